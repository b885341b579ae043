"""The least that could carry two streams to a browser: one process, websockets and asyncio, nothing kept or rendered.

It speaks as much of the frames as the benchmark's client needs. What Tourney costs beyond this is the price of
storing, rendering, resuming and Django.
"""

import asyncio
import sys

import msgspec
from websockets.asyncio.server import ServerConnection, serve

REQUEST = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}'


class _Delta(msgspec.Struct):
    content: str = ""


class _Choice(msgspec.Struct):
    delta: _Delta


class _Chunk(msgspec.Struct):
    choices: list[_Choice]


_decoder = msgspec.json.Decoder(_Chunk)


async def relay_side(socket: ServerConnection, side: str, port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
        % (len(REQUEST), REQUEST)
    )
    parts: list[str] = []
    try:
        while (line := await reader.readline()) and not line.startswith(b"data: [DONE]"):
            if line.startswith(b"data: ") and (text := _decoder.decode(line[6:]).choices[0].delta.content):
                parts.append(text)
                await socket.send(msgspec.json.encode({"type": "delta", "side": side, "text": text}).decode())
    finally:
        writer.close()
    finished = {"type": "finished", "side": side, "status": "finished", "text": "".join(parts), "html": ""}
    await socket.send(msgspec.json.encode(finished).decode())


async def main(upstream_port: int) -> None:
    async def talk(socket: ServerConnection) -> None:
        await socket.send('{"type":"snapshot"}')
        async for _ in socket:
            await asyncio.gather(*(relay_side(socket, side, upstream_port) for side in "ab"))

    async with serve(talk, "127.0.0.1", 0, compression=None, backlog=4096) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
