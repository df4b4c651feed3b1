"""A handler behind TLS in a thread with a loop of its own, for clients that wait."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from atoll.apiserver.credentials import Credentials
from atoll.apiserver.http.connection import Limits
from atoll.apiserver.http.serving import HttpServer, listen
from atoll.apiserver.http.tls import server_context
from atoll.client.endpoint import Endpoint
from atoll.client.plain import PlainClient
from atoll.effects import system_now
from atoll.exchange import Handler


class Serving:
    def __init__(self, handler: Handler, credentials: Credentials) -> None:
        self._handler, self._credentials = handler, credentials
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = 0
        self.resume()

    @property
    def endpoint(self) -> Endpoint:
        pki = self._credentials
        return Endpoint(
            f"https://127.0.0.1:{self.port}",
            pki.ca.read_bytes(),
            pki.admin.read_bytes(),
            pki.admin_key.read_bytes(),
        )

    def client(self, patience_s: float = 30.0) -> PlainClient:
        return PlainClient(self.endpoint, patience_s)

    def resume(self) -> None:
        """Listen, at the same port as before."""
        self._run(self._start())

    def pause(self) -> None:
        self._run(self._server.stop())

    def stop(self) -> None:
        self.pause()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def _start(self) -> None:
        pki = self._credentials
        listener = listen("127.0.0.1", self.port)
        self.port = listener.getsockname()[1]
        self._server = HttpServer(self._handler, system_now, limits=Limits(shutdown_s=0.2))
        await self._server.start(listener, server_context(pki.server, pki.server_key, pki.ca))

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)


Serve = Callable[[Handler], Serving]
