"""Asking the running server, as its administrator, with what the standard library has.

Start-up time is what a short command consists of, so the real client is not imported here.
"""

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from atoll.cli.failing import CommandFailed, command
from atoll.config import Config

TIMEOUT_S = 10.0


@contextmanager
def asking(
    config: Config, url: str, path: str, timeout_s: float = TIMEOUT_S
) -> Iterator[http.client.HTTPResponse]:
    """The answer to a GET, still to be read; CommandFailed if there is none or it is a refusal."""
    address = urlsplit(url)
    try:
        context = ssl.create_default_context(cafile=str(config.pki_dir / "ca.crt"))
        context.load_cert_chain(config.pki_dir / "admin.crt", config.pki_dir / "admin.key")
        connection = http.client.HTTPSConnection(
            address.hostname or "", address.port, timeout=timeout_s, context=context
        )
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            if response.status != 200:
                raise _refused(config, url, response)
            yield response
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        why = str(error) or type(error).__name__
        attempt = f"look into {config.log_file}, or {command(config, 'down --force')}"
        raise CommandFailed(f"the server at {url} does not answer", why, attempt) from error


def ask(config: Config, url: str, path: str) -> dict[str, Any]:
    """The JSON object that the server answers."""
    with asking(config, url, path) as response:
        answer: dict[str, Any] = json.loads(response.read())
        return answer


def _refused(config: Config, url: str, response: http.client.HTTPResponse) -> CommandFailed:
    try:
        why = str(json.loads(response.read())["message"])
    except (ValueError, KeyError, TypeError):
        why = response.reason
    return CommandFailed(f"the server at {url} refused", why, f"look into {config.log_file}")
