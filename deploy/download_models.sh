#!/bin/sh
# Brings models here for the engines: `sh deploy/download_models.sh meta-llama/Llama-3.1-8B-Instruct@COMMIT ...`.
# Without names, the three that docs/engines.md begins with. Goes on where an earlier run was cut off.
# HF_TOKEN opens gated models, HF_ENDPOINT names another hub, MODELS the folder.
set -eu

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- Qwen/Qwen2.5-7B-Instruct-AWQ Qwen/Qwen2.5-3B-Instruct HuggingFaceTB/SmolLM2-1.7B-Instruct
exec deploy/start.sh models_download "$@"
