"""The GPUs of this machine, read through NVIDIA's own library where nvidia-ml-py is installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from providers.engines.packing import Gpu


class NoGpu(RuntimeError):
    """There is none that we can see; the message says why, in words."""


def gpus_read() -> list[Gpu]:
    """Every NVIDIA GPU with its whole memory. Raises NoGpu."""
    with _library() as (pynvml, handles):
        return [
            Gpu(index, str(pynvml.nvmlDeviceGetName(handle)), pynvml.nvmlDeviceGetMemoryInfo(handle).total / 2**30)
            for index, handle in enumerate(handles)
        ]


def processes_read() -> list[dict[int, int]]:
    """Of every NVIDIA GPU, the bytes that each process holds on it, by process id; without those of which the driver
    does not tell, as in some containers. Raises NoGpu."""
    with _library() as (pynvml, handles):
        running = [pynvml.nvmlDeviceGetComputeRunningProcesses(handle) for handle in handles]
    return [{one.pid: one.usedGpuMemory for one in found if one.usedGpuMemory} for found in running]


@contextmanager
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
        raise NoGpu(f"the NVIDIA driver does not say it ({error})") from None
    finally:
        pynvml.nvmlShutdown()
