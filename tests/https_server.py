"""A small HTTPS server in a thread, for tests that need somebody who answers."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Quiet(BaseHTTPRequestHandler):
    """Answers over lasting connections; says nothing of them, nor of those that break."""

    protocol_version = "HTTP/1.1"
    timeout = 120

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ssl.SSLError, ConnectionError):
            self.close_connection = True


@contextmanager
def listening(handler: type[Quiet], tls: ssl.SSLContext) -> Iterator[int]:
    """Have requests to a port of this machine answered so, for as long as the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.block_on_close = False
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
