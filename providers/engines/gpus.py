"""The GPUs of this machine, read through NVIDIA's own library where nvidia-ml-py is installed."""

from providers.engines.packing import Gpu


class NoGpu(RuntimeError):
    """There is none that we can see; the message says why, in words."""


def gpus_read() -> list[Gpu]:
    """Every NVIDIA GPU with its whole memory. Raises NoGpu."""
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
        return [
            Gpu(index, str(pynvml.nvmlDeviceGetName(handle)), pynvml.nvmlDeviceGetMemoryInfo(handle).total / 2**30)
            for index, handle in enumerate(handles)
        ]
    finally:
        pynvml.nvmlShutdown()
