"""Why an engine did not start, in words: read from the last lines of vLLM's log. Pure."""

import re
from collections.abc import Iterable, Sequence

# What vLLM, PyTorch, uvicorn and Hugging Face print, and what that means. The first that is found in the log counts, so
# causes stand before what follows from them.
REASONS: Sequence[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern, re.IGNORECASE), sentence)
    for pattern, sentence in (
        (r"No space left on device|Errno 28", "The disk is full."),
        (r"Address already in use|Errno 98", "The port is taken by another program."),
        (
            r"Free memory on device \S+ \((?P<free>[\d.]+)/(?P<all>[\d.]+) GiB\) on startup",
            "Only {free} of {all} GiB of the GPU are free: less than this engine's share. Put another engine to sleep, "
            "or give this one a smaller share.",
        ),
        (
            r"Available memory on node \S+ \((?P<free>[\d.]+)/(?P<all>[\d.]+) GiB\)",
            "Only {free} of {all} GiB of this machine's memory are free: less than this engine asks for. Stop another "
            "one, give this one a smaller share, or lower VLLM_CPU_KVCACHE_SPACE.",
        ),
        (
            r"Generator does not use offset|gen\.get_offset",
            "A request with a seed, whose prompt was read in parts, ended it: a fault of vLLM on CPUs. Give it the "
            "argument --no-enable-chunked-prefill.",
        ),
        (
            r"(?P<needed>[\d.]+) GiB KV\s+cache is needed, which is larger than the available KV cache\s+memory "
            r"\((?P<free>-?[\d.]+) GiB\)",
            "Its context needs {needed} GiB of cache, and its share leaves {free}. Shorten the context, or give it a "
            "larger share.",
        ),
        (
            r"No available memory for the cache blocks",
            "The weights alone fill its share of the memory. Give it a larger share, or a quantized model.",
        ),
        (
            r"CUDA out of memory|OutOfMemoryError|HIP out of memory|cudaErrorMemoryAllocation",
            "The GPU's memory did not suffice while the model was loaded. Give it a smaller context or a quantized "
            "model, or put another engine to sleep.",
        ),
        (r"Cannot allocate memory|MemoryError|Killed", "This machine's memory did not suffice."),
        (
            r"No CUDA GPUs are available|Failed to infer device type|no NVIDIA driver|invalid device ordinal|"
            r"CUDA driver initialization failed",
            "The GPU that it was told to use is not there.",
        ),
        (
            r"GatedRepoError|Access to model \S+ is restricted",
            "The hub keeps this model for those who accepted its terms: accept them there, and set HF_TOKEN.",
        ),
        (
            r"No such file or directory: '(?:/[^'\n]*/bin/)?(?P<what>[\w+-]+)'|"
            r"\bsh: (?:(?:line )?\d+: )?(?P<shell>[\w+-]+): (?:command )?not found|"
            r"(?P<ninja>Ninja) is required|Failed to find (?P<c>C compiler)|Could not find (?P<cuda>nvcc)",
            "vLLM calls the program {what}{shell}{ninja}{c}{cuda}, which is not on this machine. Install it.",
        ),
        (
            r"RepositoryNotFoundError|Repo id must|is not a local folder and is not a valid model|"
            r"Invalid repository ID or local directory|does not appear to have a file named|"
            r"No such file or directory: ['\"][^'\"\n]*(?:config\.json|\.safetensors|\.safetensors\.index\.json)['\"]",
            "There is no such model: neither a folder here with a config.json, nor on the hub under this name.",
        ),
        (
            r"LocalEntryNotFoundError|OfflineModeIsEnabled|Couldn't connect to|Name or service not known",
            "The model is not here, and the hub could not be reached to fetch it. Download it first.",
        ),
        (
            r"max_model_len \((?P<asked>\d+)\) is greater\s+than the derived max_model_len \(\w+=(?P<most>\d+)",
            "Its context of {asked} tokens is longer than the model was made for: {most} at most.",
        ),
        (
            r"Model architectures \[?(?P<what>[^\]\n]*)\]? (are not supported|failed to be inspected)",
            "vLLM does not know models of this kind ({what}).",
        ),
        (
            r"Cannot find the config file for (?P<what>\w+)|Quantization method specified in the model config",
            "The model is not stored in the quantization that was chosen.",
        ),
        (
            r"trust_remote_code",
            "The model brings code of its own, which is not run unless --trust-remote-code says so.",
        ),
        (r"unrecognized arguments: (?P<what>[^\n]*)", "vLLM does not know these arguments: {what}."),
        (r"No module named '?(?P<what>[\w.]+)", "vLLM is not installed for this interpreter: {what} is missing."),
    )
]
CACHE_SIZE = re.compile(r"\b[A-Z]+ KV cache size: (?P<tokens>[\d,]+) tokens")
ERROR = re.compile(r"\b\w*(?:Error|Exception): .+")


def reason_in(lines: Iterable[str]) -> str:
    """The cause in a sentence; the log's last error in its own words where we do not know it; empty for a clean log."""
    text = "\n".join(lines)
    for pattern, sentence in REASONS:
        if match := pattern.search(text):
            return sentence.format(**_named(match))
    errors = ERROR.findall(text)
    return f"It ended with: {errors[-1][:300]}" if errors else ""


def cache_tokens_in(line: str) -> int | None:
    """How many tokens the engine says its KV cache holds, where this line says so."""
    match = CACHE_SIZE.search(line)
    return int(match["tokens"].replace(",", "")) if match else None


def _named(match: re.Match[str]) -> dict[str, str]:
    return {name: (value or "").strip() for name, value in match.groupdict().items()}
