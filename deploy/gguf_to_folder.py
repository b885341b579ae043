"""Unpacks a GGUF file into a Hugging Face folder, as vLLM reads it: `python deploy/gguf_to_folder.py FILE FOLDER`.

Run by the interpreter that has vLLM; needs transformers, gguf and accelerate. For trying vLLM without a hub: a model
that was quantized for llama.cpp is not better for being unpacked.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig


def main(file: Path, folder: Path) -> None:
    where = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    tokenizer = AutoTokenizer.from_pretrained(**where)
    model = AutoModelForCausalLM.from_pretrained(
        **where, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config  # what is written is not quantized any more
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
