#!/bin/sh
# What runs, one process a call: `start.sh web [PORT]`, `worker`, `beat`, `prepare` (tables, seeds, first login link), or
# any other command of manage.py. `make run`, containers, systemd units and the tests all start their processes here.
set -eu
cd "$(dirname "$0")/.."

python=${TOURNEY_PYTHON:-python}
[ -n "${TOURNEY_PYTHON:-}" ] || [ ! -x .venv/bin/python ] || python=.venv/bin/python

case ${1:-} in
web)
    # Without a time limit: a battle's socket may stay open for days, and pings find the dead ones. A busy process may
    # need more than daphne's five seconds to greet a new one.
    exec "$python" -m daphne -b "${HOST:-127.0.0.1}" -p "${2:-${PORT:-8000}}" -v 0 --no-server-name \
        --websocket_timeout -1 --websocket_connect_timeout 20 --ping-interval 20 --ping-timeout 30 \
        arena_project.asgi:application
    ;;
worker)
    # Threads (arena_project/worker_pool.py); workers have nothing to tell each other.
    exec "$python" -m celery --quiet -A arena_project.celery worker --loglevel WARNING \
        --concurrency "${WORKER_THREADS:-4}" --without-gossip --without-mingle --without-heartbeat
    ;;
beat)
    # Exactly one of these. Its schedule is in the settings; the file only remembers when it last said what.
    exec "$python" -m celery --quiet -A arena_project.celery beat --loglevel WARNING \
        --schedule "${BEAT_FILE:-${TOURNEY_VAR:-var}/beat}" --pidfile=
    ;;
*)
    exec "$python" manage.py "$@"
    ;;
esac
