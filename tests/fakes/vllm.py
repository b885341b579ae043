"""A fake vLLM, as a process: `python -m tests.fakes.vllm -m vllm.entrypoints.openai.api_server --model … --port …`.

It takes vLLM's own arguments, answers on the real wire (tests/fakes/scripts.py says what), has the routes of sleep mode
and the names of /metrics, and prints vLLM's own lines. What it does besides is in the name of the model: `oom`,
`no-cache`, `long`, `host-full`, `in-parts`, `disk-full`, `no-gpu`, `never-ready`, `dies-after-start`, `drowsy`
(wakes slowly), `sleepless`, `slow` and `crawling` (in how they write).
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from tests.fakes.scripts import OTHER, Answer
from tests.fakes.upstream import Upstream

LOADING_SECONDS = 0.05
TOKEN_SECONDS = 0.005
TOKEN_SECONDS_OF = {"slow": 0.02, "crawling": 0.15}
FATAL = {
    "oom": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total capacity of "
    "5.79 GiB of which 40.00 MiB is free.",
    "no-cache": "ValueError: To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache "
    "is needed, which is larger than the available KV cache memory (2.35 GiB). Based on the available memory, the "
    "estimated maximum model length is 19232. Try increasing `gpu_memory_utilization`",
    "crowded": "ValueError: Free memory on device cuda:0 (1.2/23.5 GiB) on startup is less than desired GPU memory "
    "utilization (0.45, 10.6 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
    "disk-full": "OSError: [Errno 28] No space left on device: '/cache/vllm/torch_compile_cache'",
    "long": "ValueError: User-specified max_model_len (100000) is greater than the derived max_model_len "
    "(max_position_embeddings=8192 or model_max_length=None in model's config.json).",
    "host-full": "ValueError: Available memory on node 0 (0.52/15.61 GiB) on kv cache allocation is less than "
    "requested memory for kv (64.0 GiB). Decrease --kv-cache-memory-bytes, VLLM_CPU_KVCACHE_SPACE,",
    "in-parts": "RuntimeError: Worker failed with error 'CPU Generator does not use offset', please check",
    "no-gpu": "RuntimeError: No CUDA GPUs are available",
}
CACHE_LINE = "INFO 11-21 14:00:02 [kv_cache_utils.py:2327] GPU KV cache size: 46,592 tokens, Maximum concurrency"
TAKEN = "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', {}): address already in use"


class FakeVllm(Upstream):
    def __init__(self, arguments: dict[str, str], flags: set[str]) -> None:
        self.model = Path(arguments["--model"]).name
        self.served = arguments.get("--served-model-name", arguments["--model"])
        super().__init__({self.served: Answer(OTHER, seconds_a_token=TOKEN_SECONDS_OF.get(self.model, TOKEN_SECONDS))})
        self.scripts = {self.served: self.scripts[self.served]}
        self.port = int(arguments["--port"])
        self.has_sleep_mode = "--enable-sleep-mode" in flags and os.environ.get("VLLM_SERVER_DEV_MODE") == "1"
        self.is_sleeping = False
        self.running = 0

    async def _answer(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        method, target, _ = head.decode().split("\r\n")[0].split(" ")
        path, _, query = target.partition("?")
        if path in ("/sleep", "/wake_up", "/collective_rpc") and self.has_sleep_mode:
            length = next(
                (int(line[15:]) for line in head.decode().lower().split("\r\n") if line[:15] == "content-length:"), 0
            )
            body = await reader.readexactly(length)
            print(f"INFO 11-21 14:00:00 [route] {method} {target} {body.decode()}", flush=True)
            if path == "/sleep" and self.model == "sleepless":
                writer.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
                return b""
            if path == "/wake_up" and self.model == "drowsy":
                await asyncio.sleep(1.0)
            if path == "/sleep" or (path == "/wake_up" and query != "tags=weights"):
                self.is_sleeping = path == "/sleep"
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()
            return b""
        if method == "POST" and self.is_sleeping:
            writer.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
            return b""
        self.running += method == "POST"
        try:
            return await super()._answer(head, reader, writer)
        finally:
            self.running -= method == "POST"

    def _get(self, path: str) -> bytes:
        if path == "/metrics":
            labels = f'{{engine="0",model_name="{self.served}"}}'
            text = (
                f"# HELP vllm:num_requests_running Number of requests in model execution batches.\n"
                f"vllm:num_requests_running{labels} {float(self.running)}\n"
                f"vllm:num_requests_waiting{labels} 0.0\n"
                f"vllm:kv_cache_usage_perc{labels} {0.25 if self.running else 0.0}\n"
                f'vllm:request_success_total{{engine="0",finished_reason="stop"}} 3.0\n'
            )
            return f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
        if path == "/is_sleeping" and self.has_sleep_mode:
            body = json.dumps({"is_sleeping": self.is_sleeping})
            return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        return super()._get(path)


def main(given: list[str]) -> None:
    if given[:1] == ["-m"]:
        given = given[2:]
    flags = {one for one in given if one.startswith("--")}
    arguments = {name: value for name, value in zip(given, [*given[1:], ""], strict=True) if name.startswith("--")}
    print(
        "INFO 11-21 14:00:00 [api_server.py:1] vLLM API server version 0.32.0; HF_TOKEN=hf_abcdefghijklmnop", flush=True
    )
    model = arguments["--model"]
    if model.startswith("/") and not Path(model, "config.json").exists():
        sys.exit(f"OSError: {model} is not a local folder and is not a valid model identifier listed on the hub")
    fake = FakeVllm(arguments, flags)
    if fake.model in FATAL:
        print("ERROR 11-21 14:00:01 [core.py:900] EngineCore failed to start.", flush=True)
        print(f"ERROR 11-21 14:00:01 [core.py:900] {FATAL[fake.model]}", flush=True)
        sys.exit("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}")
    if fake.model == "never-ready":
        asyncio.run(asyncio.sleep(600))
    print(CACHE_LINE, flush=True)
    asyncio.run(_serve(fake))


async def _serve(fake: FakeVllm) -> None:
    await asyncio.sleep(LOADING_SECONDS)
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(15, stop.set)
    try:
        server = await asyncio.start_server(fake._connection, "127.0.0.1", fake.port)
    except OSError:
        sys.exit(TAKEN.format(fake.port))
    print("INFO:     Application startup complete.", flush=True)
    if fake.model == "dies-after-start":
        loop.call_later(0.5, os._exit, 3)
    await stop.wait()
    server.close()
    print("INFO:     Shutting down", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
