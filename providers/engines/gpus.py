"""The GPUs of this machine, read through NVIDIA's own library where nvidia-ml-py is installed."""

import contextlib
import json
from dataclasses import asdict
from pathlib import Path

from providers.engines.packing import Gpu

NOTE = "gpus.json"


class NoGpu(RuntimeError):
    """There is none that we can see; the message says why, in words."""


def gpus_read() -> list[Gpu]:
    """Every NVIDIA GPU with its whole memory, one at least. Raises NoGpu."""
    try:
        import pynvml  # nvidia-ml-py, of requirements-vllm.txt
    except ImportError:
        raise NoGpu("nvidia-ml-py is not installed, so no GPU can be read; give their memory instead") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise NoGpu(f"no NVIDIA driver answers here ({error})") from None
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        found = [
            Gpu(index, str(pynvml.nvmlDeviceGetName(handle)), pynvml.nvmlDeviceGetMemoryInfo(handle).total / 2**30)
            for index, handle in enumerate(handles)
        ]
    except pynvml.NVMLError as error:
        raise NoGpu(f"the driver does not say what its GPUs have ({error})") from None
    finally:
        pynvml.nvmlShutdown()
    if not found:
        raise NoGpu("there is a driver here and no GPU")
    return found


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
