#!/bin/sh
# Brings models here for the engines: `sh deploy/download_models.sh meta-llama/Llama-3.1-8B-Instruct@COMMIT ...`.
# Without names, the three that docs/deploy.md begins with, each at the commit that compose.vllm.yml names, too. Goes on
# where an earlier run was cut off.
# HF_TOKEN opens gated models, HF_ENDPOINT names another hub, MODELS the folder.
set -eu

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- \
    Qwen/Qwen2.5-7B-Instruct-AWQ@b25037543e9394b818fdfca67ab2a00ecc7dd641 \
    HuggingFaceTB/SmolLM3-3B@a07cc9a04f16550a088caea529712d1d335b0ac1 \
    ibm-granite/granite-3.3-2b-instruct@707f574c62054322f6b5b04b6d075f0a8f05e0f0
exec deploy/start.sh models_download "$@"
