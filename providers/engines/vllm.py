"""How vLLM is started and spoken to: a command line and its environment, and the routes beside the OpenAI wire.

No Django. The routes of sleep mode exist only with VLLM_SERVER_DEV_MODE, which opens others that must not be reached
from outside (/collective_rpc runs code), so an engine of ours listens on loopback only.
Source: https://docs.vllm.ai/en/stable/features/sleep_mode/
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2

from providers.secret_names import is_hidden_from_engines

LOOPBACK = "127.0.0.1"
# What Tourney says itself (said twice, the last one would win), and what would take its engine out of its hands.
RESERVED = (
    "--model", "--host", "--port", "--served-model-name", "--revision", "--quantization", "--dtype",
    "--tensor-parallel-size", "--gpu-memory-utilization", "--max-model-len", "--enable-sleep-mode", "--config",
    "--uds", "--api-key", "--root-path",
)  # fmt: skip
RESERVED_SHORT = ("-q", "-tp")  # of --quantization and --tensor-parallel-size
NO_SLEEP_MODE = "--no-enable-sleep-mode"  # where the platform has none, as on CPUs
PROBE_SECONDS = 5.0
SLEEP_SECONDS = 600.0  # to copy the weights of a large model into the host's memory, or to read them back
SAMPLE = re.compile(r"^vllm:(?P<name>\w+)(?:\{[^}]*\})? (?P<value>[-+.\deE]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Spec:
    """All that an engine is started with. `python` is the interpreter that has vLLM; empty for the `vllm` command."""

    slug: str
    model: str
    served_as: str
    port: int
    host: str = LOOPBACK
    revision: str = ""
    quantization: str = ""
    dtype: str = "auto"
    tensor_parallel: int = 1
    memory_share: float | None = None
    context: int | None = None
    gpus: str = ""
    sleep_level: int = 1
    extra_arguments: tuple[str, ...] = ()
    python: str = ""

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def is_ours(self) -> bool:
        """Whether we start it; engines on other machines are only watched."""
        return self.host == LOOPBACK


@dataclass(frozen=True)
class Load:
    """What an engine does at this moment, of its /metrics."""

    running: int = 0
    waiting: int = 0
    cache_used: float = 0.0  # from 0 to 1


def command_of(spec: Spec) -> list[str]:
    """The arguments, one by one; there is no shell that could read more into them."""
    start = [spec.python, "-m", "vllm.entrypoints.openai.api_server", "--model"] if spec.python else ["vllm", "serve"]
    command = [*start, spec.model, "--host", spec.host, "--port", str(spec.port), "--served-model-name", spec.served_as]
    given = {
        "--revision": spec.revision,
        "--quantization": spec.quantization,
        "--dtype": spec.dtype if spec.dtype != "auto" else "",
        "--tensor-parallel-size": spec.tensor_parallel if spec.tensor_parallel > 1 else "",
        "--gpu-memory-utilization": spec.memory_share or "",
        "--max-model-len": spec.context or "",
    }
    for name, value in given.items():
        command += [name, str(value)] if value else []
    if spec.sleep_level and NO_SLEEP_MODE not in spec.extra_arguments:
        command.append("--enable-sleep-mode")
    return [*command, *spec.extra_arguments]


def environment_of(spec: Spec, cache: Path, *, is_offline: bool = False) -> dict[str, str]:
    """The environment of the child: ours without our secrets, with what vLLM writes kept in `cache`."""
    environment = {name: value for name, value in os.environ.items() if not is_hidden_from_engines(name)}
    environment |= {
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CACHE_ROOT": str(cache / "vllm"),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "PYTHONUNBUFFERED": "1",
    }
    if os.sep in spec.python:  # what vLLM calls by name, as ninja, lies beside its interpreter
        environment["PATH"] = os.pathsep.join([str(Path(spec.python).absolute().parent), os.environ.get("PATH", "")])
    if spec.sleep_level:
        environment["VLLM_SERVER_DEV_MODE"] = "1"
    if spec.gpus:
        environment["CUDA_VISIBLE_DEVICES"] = spec.gpus
        environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # as nvidia-smi and the planner number them
    if is_offline:
        environment["HF_HUB_OFFLINE"] = "1"
    return environment


def reserved_in(arguments: list[str]) -> str:
    """The first argument that Tourney gives itself, if there is one; as vLLM's parser reads them, for which `_` is `-`
    and the beginning of a name is enough. No other option of vLLM's is the beginning of one of these."""
    return next((one for one in arguments if _is_reserved(one)), "")


def _is_reserved(argument: str) -> bool:
    name = re.split(r"[=.]", argument, maxsplit=1)[0].replace("_", "-")
    if not name.startswith("--"):
        return name.startswith(RESERVED_SHORT) or name == "-t"
    return name.startswith("--ssl") or any(one.startswith(name) for one in RESERVED)


class Control:
    """Asks one engine. Raises httpx2.HTTPError where it does not answer."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.client = httpx2.AsyncClient(base_url=spec.url, timeout=PROBE_SECONDS, trust_env=False)

    async def is_healthy(self) -> bool:
        """Whether it answers that it is well; it does not listen before its model is loaded."""
        try:
            return (await self.client.get("/health")).status_code == 200
        except httpx2.HTTPError:
            return False

    async def load(self) -> Load:
        answer = await self.client.get("/metrics")
        return load_in(answer.text) if answer.status_code == 200 else Load()

    async def is_sleeping(self) -> bool:
        answer = await self.client.get("/is_sleeping")
        return answer.status_code == 200 and bool(answer.json().get("is_sleeping"))

    async def sleep(self, level: int) -> None:
        """Level 1 keeps the weights in the host's memory, level 2 forgets them. Cuts off nothing: it is drained."""
        answer = await self.client.post("/sleep", params={"level": level}, timeout=SLEEP_SECONDS)
        answer.raise_for_status()

    async def wake(self, level: int) -> None:
        """After level 2 the weights are read from disk again, before there is a cache to fill."""
        if level < 2:
            (await self.client.post("/wake_up", timeout=SLEEP_SECONDS)).raise_for_status()
            return
        steps: list[tuple[str, Mapping[str, str], Mapping[str, str] | None]] = [
            ("/wake_up", {"tags": "weights"}, None),
            ("/collective_rpc", {}, {"method": "reload_weights"}),
            ("/wake_up", {"tags": "kv_cache"}, None),
        ]
        for path, params, body in steps:
            answer = await self.client.post(path, params=dict(params), json=body, timeout=SLEEP_SECONDS)
            answer.raise_for_status()

    async def close(self) -> None:
        await self.client.aclose()


def load_in(text: str) -> Load:
    """Read from /metrics; several processes of one engine are added up, and its fullest cache counts."""
    sums: dict[str, float] = {}
    for match in SAMPLE.finditer(text):
        name, value = match["name"], float(match["value"])
        sums[name] = max(sums.get(name, 0.0), value) if name.endswith("_perc") else sums.get(name, 0.0) + value
    return Load(
        running=int(sums.get("num_requests_running", 0)),
        waiting=int(sums.get("num_requests_waiting", 0)),
        cache_used=sums.get("kv_cache_usage_perc", sums.get("gpu_cache_usage_perc", 0.0)),
    )
