"""The GPUs of this machine, read through NVIDIA's own library where nvidia-ml-py is installed."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from providers.engines.packing import Gpu

NOTE = "gpus.json"


class NoGpu(RuntimeError):
    """There is none that we can see; the message says why, in words."""


def gpus_read() -> list[Gpu]:
    """Every NVIDIA GPU with its whole memory, one at least. Raises NoGpu."""
    with _library() as (pynvml, handles):
        found = [
            Gpu(index, str(pynvml.nvmlDeviceGetName(handle)), pynvml.nvmlDeviceGetMemoryInfo(handle).total / 2**30)
            for index, handle in enumerate(handles)
        ]
    if not found:
        raise NoGpu("there is a driver here and no GPU")
    return found


def processes_read() -> list[dict[int, int]]:
    """Of every NVIDIA GPU, the bytes that each process holds on it, by process id; without those of which the driver
    does not tell, as in some containers. Raises NoGpu."""
    with _library() as (pynvml, handles):
        running = [pynvml.nvmlDeviceGetComputeRunningProcesses(handle) for handle in handles]
    return [{one.pid: one.usedGpuMemory for one in found if one.usedGpuMemory} for found in running]


def gpus_note(folder: Path) -> None:
    """Leave word in `folder` for processes that may not see the GPUs, as the web processes of systemd's units."""
    try:
        found = gpus_read()
    except NoGpu:
        found = []
    with contextlib.suppress(OSError):  # a full disk is no reason not to run
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NOTE).write_text(json.dumps([asdict(gpu) for gpu in found]))


def gpus_here(folder: Path) -> list[Gpu]:
    """Those that we see ourselves, or else those that `gpus_note` saw. Raises NoGpu."""
    try:
        return gpus_read()
    except NoGpu:
        with contextlib.suppress(OSError, ValueError, TypeError):
            if noted := [Gpu(**one) for one in json.loads((folder / NOTE).read_text())]:
                return noted
        raise


@contextlib.contextmanager
def _library() -> Iterator[tuple[Any, list[Any]]]:
    """NVIDIA's library with a handle for each GPU. Raises NoGpu, also for what it cannot say."""
    try:
        import pynvml  # nvidia-ml-py, of requirements-vllm.txt
    except ImportError:
        raise NoGpu("nvidia-ml-py is not installed, so no GPU can be read; give their memory instead") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise NoGpu(f"no NVIDIA driver answers here ({error})") from None
    try:
        yield pynvml, [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError as error:
        raise NoGpu(f"the NVIDIA driver does not say what its GPUs have ({error})") from None
    finally:
        pynvml.nvmlShutdown()
