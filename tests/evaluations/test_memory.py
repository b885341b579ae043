"""Memory of model servers on this machine: of the process, and of what it and its children hold on a GPU."""

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from evaluations.fitting import measured
from evaluations.memory import Watch, listener, parent
from evaluations.models import Run
from evaluations.services import run_do
from tests.evaluations.scripted import Ground

GIB = 2**30


class NvmlError(Exception):
    pass


class FakeNvml(SimpleNamespace):
    """What of pynvml is used: GPUs, each with the bytes of each process, or None where the driver does not tell."""

    def __init__(self, *gpus: dict[int, int | None], driver: bool = True) -> None:
        super().__init__(NVMLError=NvmlError)
        self.gpus, self.has_driver, self.open = gpus, driver, 0

    def nvmlInit(self) -> None:
        if not self.has_driver:
            raise NvmlError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=size) for pid, size in self.gpus[handle].items()]


@pytest.fixture
def server(tiny: Ground) -> Ground:
    if listener(tiny.upstream.url) is None:
        pytest.skip("this system does not say who listens")
    return tiny


def done(run: Run) -> Run:
    run_do(run_id=run.pk, tell=lambda counts: None)
    run.refresh_from_db()
    return run


@pytest.mark.django_db
def test_the_fullest_gpu_of_a_server_is_noted_with_what_its_children_hold(
    server: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The upstream listens in this process. Init stands for a stranger: nobody started it."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as running:
        child = running.pid
        assert parent(child) == os.getpid()
        nvml = FakeNvml({os.getpid(): 2 * GIB, child: 3 * GIB, 1: 50 * GIB}, {child: 4 * GIB}, {os.getpid(): None})
        monkeypatch.setitem(sys.modules, "pynvml", nvml)
        watch = Watch({"here": server.upstream.url, "elsewhere": "https://api.example.org/v1"})
        watch.look()
        assert set(watch.peaks) == {"here"}
        assert watch.peaks["here"]["gpu"] == 5 * GIB
        assert watch.peaks["here"]["process"] > 1_000_000
        nvml.gpus = ({child: 1 * GIB},)
        watch.look()
        assert watch.peaks["here"]["gpu"] == 5 * GIB, "the peak stays"
        assert nvml.open == 0
        running.kill()


@pytest.mark.django_db
@pytest.mark.parametrize("nvml", [None, FakeNvml(driver=False)], ids=["no library", "no driver"])
def test_without_a_gpu_the_process_is_what_is_known(
    server: Ground, monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml | None
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    watch = Watch({"here": server.upstream.url})
    watch.look()
    assert set(watch.peaks["here"]) == {"process"}


@pytest.mark.django_db
def test_a_run_says_who_took_more_than_its_limit_and_keeps_the_peak_of_an_earlier_start(
    server: Ground, monkeypatch: pytest.MonkeyPatch, client: Any
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml({os.getpid(): 7 * GIB}))
    run = done(server.run(models="alpha", options={"memory_limit": 6.0}))
    assert run.memory[server.endpoint.slug]["gpu"] == 7 * GIB
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml({os.getpid(): 1 * GIB}))
    run = done(run)
    assert run.memory[server.endpoint.slug]["gpu"] == 7 * GIB
    client.force_login(server.owner)
    page = client.get(f"/evaluations/{run.pk}/").content.decode()
    assert "Alpha: took 7.00 GiB on a GPU, more than the limit of 6" in page
    assert "7.0\xa0GB on a GPU" in page


def test_the_limit_is_held_against_the_gpu_where_there_is_one() -> None:
    peaks = {"a": {"process": 9 * GIB, "gpu": 5 * GIB}, "b": {"process": 9 * GIB}, "c": {"process": GIB, "gpu": None}}
    assert [fit.fits for fit in measured(peaks, 6)] == [True, False, True]
    assert "9.00 GiB, more than" in str(measured(peaks, 6)[1])
