"""How clients come in: a port, credentials and a kubeconfig, kept in the server's own directory.

The plane has one door, every simulated member another. What is behind it is any handler. The port
is the last one if it is free; keys and certificates stay, and are renewed in time.
"""

import asyncio
import errno
import socket
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self

from atoll.apiserver.access.signing import Signing
from atoll.apiserver.credentials import Credentials, read_signing
from atoll.apiserver.gate.gates import Gates
from atoll.apiserver.http.serving import BACKLOG, HttpServer, listen
from atoll.apiserver.http.tls import server_context
from atoll.apiserver.renewal import Make, kept_credentials, make_here
from atoll.client.endpoint import Endpoint
from atoll.client.kubeconfig import write_kubeconfig
from atoll.client.private_file import write_private
from atoll.config import Config
from atoll.errors import UsageError

RENEWAL_CHECK_S = 12 * 3600.0

Now = Callable[[], datetime]


class Door:
    """One server's way in. Use as `with Door(...)`: the port is ours at once, and let go after."""

    def __init__(
        self, name: str, config: Config, now: Now, *, first_port: int = 0, make: Make = make_here
    ) -> None:
        self._name = name
        self._make = make
        self._config = config
        self._now = now
        self._listener, self.busy_port = _listen(config, first_port)
        self.port = int(self._listener.getsockname()[1])
        self.url = f"https://{config.address}:{self.port}"
        self.credentials = self._ensure_credentials()
        self._reload: Callable[[], None] = lambda: None  # of who lets clients in, once one does

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    @property
    def signing(self) -> Signing:
        """What the server behind this door signs with."""
        return read_signing(self.credentials, self.url)

    def write_files(self) -> None:
        """Write down how to get in."""
        write_private(self._config.port_file, f"{self.port}\n".encode())
        self._write_kubeconfig()

    async def open(self, server: HttpServer) -> None:
        """Let clients in."""
        certificate, key, *authorities = self._tls_files()
        tls = server_context(certificate, key, *authorities)
        self._reload = partial(tls.load_cert_chain, certificate, key)
        await server.start(self._listener, tls)

    def open_through(self, gates: Gates) -> None:
        """Let clients in where gates let them in."""
        self._reload = gates.reload
        gates.open(self._listener, self._tls_files())

    def _tls_files(self) -> tuple[Path, Path, Path, Path]:
        known = self.credentials
        return known.server, known.server_key, known.ca, known.front_ca

    def hold(self, *, is_silent: bool) -> None:
        """Keep the port after the server on it has ended: who comes is refused, or not answered."""
        self._listener.close()
        self._listener = listen(self._config.host, self.port)
        if is_silent:
            self._listener.listen()

    async def keep_fresh(self) -> None:
        """Renew certificates in time, also in a server that runs for years."""
        while True:
            await asyncio.sleep(RENEWAL_CHECK_S)
            self._ensure_credentials()
            self._reload()
            self._write_kubeconfig()

    def _ensure_credentials(self) -> Credentials:
        names = [self._config.address.strip("[]")]
        return kept_credentials(self._config.pki_dir, self._now(), names, self._make)

    def _write_kubeconfig(self) -> None:
        endpoint = Endpoint(
            self.url,
            ca=self.credentials.ca.read_bytes(),
            certificate=self.credentials.admin.read_bytes(),
            key=self.credentials.admin_key.read_bytes(),
        )
        write_kubeconfig(self._config.kubeconfig, self._name, endpoint)


def _listen(config: Config, first_port: int) -> tuple[socket.socket, int | None]:
    """Listen where the user insists, else at the last port, else at any free one."""
    if config.port is not None:
        try:
            return _claimed(config.host, config.port), None
        except OSError as error:
            raise UsageError(
                f"cannot listen on {config.host}:{config.port}; {_why(error)}; "
                "try: another --port, or none, for any that is free"
            ) from error
    wanted = _last_port(config, first_port)
    try:
        return _claimed(config.host, wanted), None
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise UsageError(f"cannot listen on {config.host}; {_why(error)}") from error
    return _claimed(config.host, 0), wanted


def _claimed(host: str, port: int) -> socket.socket:
    """A port that is nobody else's: only who listens has it to himself. Who comes early waits."""
    listener = listen(host, port)
    try:
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _last_port(config: Config, first_port: int) -> int:
    try:
        port = int(config.port_file.read_text())
    except (OSError, ValueError):
        return first_port
    return port if 0 < port <= 65535 else first_port
