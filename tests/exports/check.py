"""Loads exported files as a trainer would and trains two steps on each, with a tiny random model and no network.

Run by `make test-exports`, in an environment of its own: `python tests/exports/check.py FOLDER`, where the names of the
files say what they are, for example `dpo-standard.jsonl`.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}

import trl
from datasets import load_dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification, PreTrainedTokenizerFast
from trl.data_utils import is_conversational

TEMPLATE = (
    "{% for m in messages %}<s>{{ m['role'] }}\n{{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)
COLUMNS = {
    "dpo": {"prompt", "chosen", "rejected"},
    "kto": {"prompt", "completion", "label"},
    "reward": {"chosen", "rejected"},
}
LOADERS = {".jsonl": "json", ".csv": "csv", ".parquet": "parquet"}


def tokenizer() -> Any:
    """Bytes as tokens: nothing has to be fetched."""
    names = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<s>", "</s>", "<pad>"]
    inner = Tokenizer(models.BPE(vocab={name: number for number, name in enumerate(names)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    made.chat_template = TEMPLATE
    return made


def train(kind: str, rows: Any) -> float:
    """The loss after two steps of the kind's own trainer."""
    words = tokenizer()
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=4096, num_labels=1, pad_token_id=words.pad_token_id,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        asked = {
            "output_dir": folder, "max_steps": 2, "per_device_train_batch_size": 4, "report_to": [], "use_cpu": True,
            "bf16": False, "gradient_checkpointing": False, "max_length": 4096, "save_strategy": "no",
            "disable_tqdm": True,
        }  # fmt: skip
        given = {"train_dataset": rows, "processing_class": words}
        if kind == "reward":
            trainer: Any = trl.RewardTrainer(
                LlamaForSequenceClassification(config), args=trl.RewardConfig(**asked), **given
            )
        elif kind == "kto":
            pair = {"model": LlamaForCausalLM(config), "ref_model": LlamaForCausalLM(config)}
            trainer = trl.KTOTrainer(**pair, args=trl.KTOConfig(**asked), **given)
        else:
            pair = {"model": LlamaForCausalLM(config), "ref_model": LlamaForCausalLM(config)}
            trainer = trl.DPOTrainer(**pair, args=trl.DPOConfig(**asked), **given)
        return float(trainer.train().metrics["train_loss"])


def check(path: Path) -> str:
    """Load one file, look at each row and train; returns what was seen. Raises AssertionError."""
    kind, shape = path.stem.split("-")
    rows = load_dataset(LOADERS[path.suffix], data_files=str(path), split="train")
    if kind not in COLUMNS:
        return f"{len(rows)} rows"
    assert COLUMNS[kind] <= set(rows.column_names), rows.column_names
    for row in rows:
        texts = [row[name] for name in COLUMNS[kind] - {"label"}]
        assert all(texts), row
        if path.suffix != ".csv":
            assert is_conversational(row) == (shape == "conversational"), row
        if "chosen" in row:
            assert row["chosen"] != row["rejected"], row
    if path.suffix == ".csv" and shape == "conversational":
        return f"{len(rows)} rows, messages as JSON"
    return f"{len(rows)} rows, loss {train(kind, rows.select(range(min(8, len(rows))))):.3f}"


if __name__ == "__main__":
    files = sorted(path for path in Path(sys.argv[1]).iterdir() if path.suffix in LOADERS)
    assert files, "there are no files to check"
    for file in files:
        print(f"{file.name:32} {check(file)}", flush=True)
