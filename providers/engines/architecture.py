"""What a model's config.json says about memory: how many parameters, and how much each token of context keeps.

Pure: a mapping in, a frozen row out. The counts are those of Hugging Face's own modelling code for dense, grouped-query
(GQA), multi-head latent (MLA) and mixture-of-experts (MoE) decoders; tests hold them against published counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Config = Mapping[str, Any]

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1}
# Two matrices in the feed-forward part, and not three with a gate between them.
UNGATED = {"gpt2", "gpt_neox", "gpt_bigcode", "opt", "bloom", "falcon", "phi", "mpt", "starcoder2", "gptj"}
LEARNED_POSITIONS = {"gpt2", "opt", "gpt_bigcode"}
# Who use the embedding as output layer though their settings do not say it: the default of their configuration class.
TIED = {"gpt2", "gemma", "gemma2", "gemma3", "gemma3_text", "opt", "bloom", "gpt_bigcode", "falcon"}


MOST_LAYERS = 10_000
MOST = 10**12  # of any size, and of millions of parameters: no model comes near, and a hostile file may go beyond


class UnknownArchitecture(ValueError):
    """The config.json is not one of a decoder that we can count; the message says what is missing."""


@dataclass(frozen=True)
class Architecture:
    """Sizes in parameters and tokens; `kv_values` is how many numbers one token keeps in one layer."""

    linear: int  # parameters in the linear layers, which quantization shrinks
    other: int  # embeddings, output layer, norms, routers: they stay at the model's dtype
    hidden: int
    intermediate: int  # the widest feed-forward part
    vocabulary: int
    context: int  # the longest that the model was made for
    kv_values: int
    kv_heads: int  # over how many GPUs the cache can be cut; 1 for MLA, whose cache every GPU holds whole
    full_layers: int
    window_layers: int = 0  # keep only the last `window` tokens
    window: int = 0
    heads: int = 0  # of attention; 0 where nobody says
    dtype: str = "bfloat16"
    quantization: str = ""  # what the checkpoint itself is stored in, in the words of `planner.BITS`

    @property
    def parameters(self) -> int:
        return self.linear + self.other

    def can_be_cut(self, gpus: int) -> bool:
        """Whether vLLM takes such a --tensor-parallel-size: it gives every GPU the same number of heads, and as many of
        keys and values, or one that several GPUs hold."""
        return not self.heads or (self.heads % gpus == 0 and (self.kv_heads % gpus == 0 or gpus % self.kv_heads == 0))

    @classmethod
    def of_size(cls, billions: float, context: int = 8192) -> "Architecture":
        """A guess where there is no config.json: a dense GQA model of today with so many parameters. Such models have
        about one layer for 128 of width, and about 13 times the square of the width in each layer."""
        parameters = int(billions * 1e9)
        hidden = max(256, round((parameters * 128 / 13) ** (1 / 3) / 128) * 128)
        embedding = min(128_000 * hidden, parameters // 4)
        return cls(
            linear=parameters - embedding,
            other=embedding,
            hidden=hidden,
            intermediate=int(3.5 * hidden),
            vocabulary=128_000,
            context=context,
            kv_values=2 * 8 * 128,
            kv_heads=8,
            full_layers=max(4, hidden // 128),
        )


def architecture_read(config: Config) -> Architecture:
    """Read a config.json, that of a model with images too. Raises UnknownArchitecture."""
    try:
        return _read(config)
    except UnknownArchitecture:
        raise
    except (ValueError, TypeError, AttributeError, KeyError, ArithmeticError) as error:  # of files that others wrote
        raise UnknownArchitecture(f"config.json is not one that we can count: {error}") from None


def _read(config: Config) -> Architecture:
    text: Config = {**config, **(config.get("text_config") or config.get("llm_config") or {})}
    hidden = _number(text, "hidden_size", "n_embd", "d_model")
    layers = _number(text, "num_hidden_layers", "n_layer", "num_layers", "n_layers", most=MOST_LAYERS)
    heads = _number(text, "num_attention_heads", "n_head", "n_heads")
    vocabulary = _number(text, "vocab_size")
    family = str(text.get("model_type", ""))
    attention, kv_values, kv_heads = _attention(text, family, hidden, heads)
    feed_forward, routers, widest = _feed_forward(text, family, hidden, layers)
    embeddings = vocabulary * hidden * (1 if text.get("tie_word_embeddings", family in TIED) else 2)
    if family in LEARNED_POSITIONS:
        embeddings += _number(text, "max_position_embeddings", "n_positions") * hidden
    windowed = _window_layers(text, layers)
    model = Architecture(
        linear=layers * attention + feed_forward + _vision(config.get("vision_config") or {}),
        other=embeddings + routers + (2 * layers + 1) * hidden,
        hidden=hidden,
        intermediate=widest,
        vocabulary=vocabulary,
        context=_number(text, "max_position_embeddings", "n_positions", "seq_length", "max_seq_len"),
        kv_values=kv_values,
        kv_heads=kv_heads,
        full_layers=layers - windowed,
        window_layers=windowed,
        window=int(text.get("sliding_window") or 0),
        heads=heads,
        dtype=_dtype(config, text),
        quantization=_quantization(config.get("quantization_config") or text.get("quantization_config") or {}),
    )
    sizes = (model.linear // 10**6, model.other // 10**6, model.intermediate, model.window, model.kv_values)
    if not all(0 <= size <= MOST for size in sizes) or not 0 < model.kv_heads <= MOST:
        raise UnknownArchitecture("config.json is not one that we can count: no model has such sizes")
    return model


def _number(config: Config, *names: str, most: int = MOST) -> int:
    value = next((config[name] for name in names if isinstance(config.get(name), int)), None)
    if value is None or value <= 0:
        raise UnknownArchitecture(f"config.json says no {names[0]}; it is not that of a language model we can count")
    if value > most:
        raise UnknownArchitecture(f"config.json says a {names[0]} of more than {most:,}; no model has that")
    return int(value)


def _attention(config: Config, family: str, hidden: int, heads: int) -> tuple[int, int, int]:
    """Parameters of one layer's attention, values that a token keeps in it, heads that the cache is cut by."""
    if config.get("kv_lora_rank"):  # DeepSeek V2 and V3, and what follows them: section 2.1 of arXiv:2405.04434
        rank, rope, nope, value = (
            _number(config, name) for name in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
        )
        query = config.get("q_lora_rank")
        width = heads * (nope + rope)
        queries = query * hidden + query * width if query else hidden * width
        return queries + hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden, rank + rope, 1
    size = int(config.get("head_dim") or hidden // heads)
    shared = bool(config.get("multi_query")) and family in {"falcon", "gpt_bigcode"}
    kv_heads = int(config.get("num_key_value_heads") or config.get("num_kv_heads") or (1 if shared else heads))
    biases = (heads + 2 * kv_heads) * size if config.get("attention_bias") or family in {"gpt2", "qwen2"} else 0
    biases += hidden if family == "gpt2" else 0
    return 2 * hidden * heads * size + 2 * hidden * kv_heads * size + biases, 2 * kv_heads * size, kv_heads


def _feed_forward(config: Config, family: str, hidden: int, layers: int) -> tuple[int, int, int]:
    """Parameters of all feed-forward parts, those of the routers, and the width of the widest part."""
    matrices = 2 if family in UNGATED else 3
    wide = int(config.get("intermediate_size") or config.get("n_inner") or config.get("ffn_dim") or 4 * hidden)
    experts = config.get("n_routed_experts") or config.get("num_local_experts") or config.get("num_experts")
    if not experts:
        biases = wide + hidden if family == "gpt2" else 0
        return layers * (matrices * hidden * wide + biases), 0, wide
    dense = int(config.get("first_k_dense_replace") or len(config.get("mlp_only_layers") or ()))
    every = int(config.get("decoder_sparse_step") or 1)
    sparse = (layers - dense) // every
    narrow = int(config.get("moe_intermediate_size") or wide)
    shared = int(config.get("shared_expert_intermediate_size") or narrow * int(config.get("n_shared_experts") or 0))
    a_layer = 3 * hidden * (int(experts) * narrow + shared)
    return (layers - sparse) * 3 * hidden * wide + sparse * a_layer, sparse * int(experts) * hidden, max(wide, narrow)


def _window_layers(config: Config, layers: int) -> int:
    """How many layers keep only a window of keys and values. All others count as full attention, of whatever kind they
    are, and so does a sliding window that is only said for the whole model, for not every version of it is used:
    rather too much than too little."""
    kinds = config.get("layer_types") or []
    if not isinstance(kinds, list):
        raise TypeError("layer_types is no list")
    return min(layers, kinds.count("sliding_attention"))


def _vision(config: Config) -> int:
    if not config.get("hidden_size"):
        return 0
    hidden, layers = int(config["hidden_size"]), int(config.get("num_hidden_layers") or config.get("depth") or 24)
    return layers * (4 * hidden * hidden + 2 * hidden * int(config.get("intermediate_size") or 4 * hidden))


def _dtype(*configs: Config) -> str:
    named = next((str(one.get("dtype") or one.get("torch_dtype")) for one in configs if _has_dtype(one)), "bfloat16")
    # vLLM's `auto` loads 32-bit checkpoints in 16 bits.
    return "bfloat16" if named == "float32" else named.removeprefix("torch.")


def _has_dtype(config: Config) -> bool:
    return bool(config.get("dtype") or config.get("torch_dtype"))


def _quantization(config: Config) -> str:
    """A checkpoint's own quantization; 'int8' for eight bits of any method."""
    method = str(config.get("quant_method", ""))
    if not method:
        return ""
    if method == "fp8" or "fp8" in str(config.get("format", "")) or "float" in str(config.get("format", "")):
        return "fp8"
    bits = config.get("bits") or config.get("w_bit") or (8 if config.get("load_in_8bit") else 4)
    return "int8" if bits == 8 else "bitsandbytes" if method == "bitsandbytes" else "awq" if method == "awq" else "gptq"
