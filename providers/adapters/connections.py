"""The connections beneath the HTTP client: aiohttp's, whose parser is compiled. The client's own took several times as
long for a streamed token, which is what bounds how many turns and battles one process can carry.
"""

import errno
import functools
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import aiohttp
import httpx2
from yarl import URL

from providers.adapters.addresses import AddressForbidden, is_allowed
from providers.adapters.base import AddressRule

KEPT_SECONDS = 15.0
HEADER_MAX_BYTES = 64_000
# What aiohttp would add by itself.
NOT_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


class Connections(httpx2.AsyncBaseTransport):
    """A pool for one event loop that connects to allowed addresses only."""

    def __init__(self, rule: AddressRule) -> None:
        self._rule = rule
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        session = self._session or self._open()
        connect = request.extensions.get("timeout", {}).get("connect")
        body = await request.aread()
        with _translated():
            response = await session.request(
                request.method,
                URL(str(request.url), encoded=True),
                headers=request.headers.multi_items(),
                skip_auto_headers=NOT_ADDED,
                data=body or None,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=None, connect=connect),
                ssl=_tls() if request.url.scheme == "https" else True,
            )
        return httpx2.Response(
            response.status,
            headers=response.raw_headers,
            stream=_Body(response),
            request=request,
            extensions={"http_version": b"HTTP/1.1"},
        )

    async def aclose(self) -> None:
        if self._session:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        """Only here: it belongs to the running loop."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_SECONDS, socket_factory=self._socket),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            max_line_size=HEADER_MAX_BYTES,
            max_field_size=HEADER_MAX_BYTES,
        )
        return self._session

    def _socket(self, found: "aiohttp.AddrInfoType") -> socket.socket:
        """For the very address that is connected to, so that a name whose answer changes in between gains nothing."""
        family, kind, protocol, _, address = found
        if not is_allowed(str(address[0]), self._rule):
            words = f"{address[0]} is an address of a private network, which PRIVATE_ENDPOINTS forbids"
            raise AddressForbidden(errno.EACCES, words)
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        return made


class _Body(httpx2.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated():
            async for piece in self._response.content.iter_any():
                yield piece

    async def aclose(self) -> None:
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


@functools.cache
def _tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


@contextmanager
def _translated() -> Iterator[None]:
    """Turns what aiohttp raises into what httpx raises."""
    try:
        yield
    except (aiohttp.ServerTimeoutError, TimeoutError) as error:
        raise httpx2.ConnectTimeout(str(error)) from error
    except aiohttp.ClientConnectorError as error:
        raise httpx2.ConnectError(str(error)) from error
    except (aiohttp.NonHttpUrlClientError, ValueError) as error:  # InvalidURL is one
        raise httpx2.UnsupportedProtocol(str(error)) from error
    except (aiohttp.ClientPayloadError, aiohttp.ClientConnectionError, ConnectionError) as error:
        raise httpx2.ReadError(str(error)) from error
    except aiohttp.ClientError as error:  # not HTTP
        raise httpx2.RemoteProtocolError(str(error)) from error
