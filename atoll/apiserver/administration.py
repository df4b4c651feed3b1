"""What an administrator asks the server itself: how it is, and a copy of its store.

A handler around the API's handler: paths below /atoll are answered here, for them only,
everything else is passed on. Not part of the Kubernetes API.
"""

import itertools
import os
import resource
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from urllib.parse import parse_qsl

from atoll import __version__
from atoll.apiserver.authentication import MASTERS, Tokens, authenticate
from atoll.apiserver.responding import json_response, status_response
from atoll.apiserver.status import (
    ApiError,
    bad_request,
    method_not_allowed,
    unavailable,
    unknown_resource,
)
from atoll.errors import Invalid, NotDurable
from atoll.exchange import Handler, Request, Response
from atoll.store.store import Store

PREFIX = "/atoll/"
PIECE_BYTES = 256 * 1024

Answer = Mapping[str, object]
Ask = Callable[[str, Mapping[str, str]], Awaitable[Answer | None]]

_numbers = itertools.count(1)


async def _nothing_to_say(*_: object) -> Answer | None:
    return None


@dataclass(frozen=True, slots=True)
class Administration:
    """Answers administrators, and hands all other requests to `api`.

    `facts` are what is known elsewhere of how the server is; `ask` answers further questions, None
    to those that it does not know, Invalid to those that are wrong.
    """

    api: Handler
    store: Store
    tokens: Tokens
    passing_dir: Path
    facts: Callable[[], Mapping[str, object]]
    ask: Ask = _nothing_to_say

    async def handle(self, request: Request) -> Response:
        if not request.path.startswith(PREFIX):
            return await self.api(request)
        try:
            self._check(request)
            question = request.path.removeprefix(PREFIX)
            match question:
                case "status":
                    return json_response(self._status())
                case "backup":
                    return await self._backup()
            answer = await self.ask(question, dict(parse_qsl(request.query)))
            if answer is None:
                raise unknown_resource()
            return json_response(dict(answer))
        except ApiError as error:
            return status_response(error)
        except Invalid as error:
            return status_response(bad_request(str(error)))
        except NotDurable as error:
            return status_response(unavailable(str(error)))

    def _check(self, request: Request) -> None:
        identity = authenticate(request, self.tokens)
        if MASTERS not in identity.groups:
            verb, path = request.method.lower(), request.path
            message = f'forbidden: User "{identity.name}" cannot {verb} path "{path}"'
            raise ApiError(403, "Forbidden", message, details={})
        if request.method != "GET":
            raise method_not_allowed()

    def _status(self) -> dict[str, object]:
        return {
            "version": __version__,
            "pid": os.getpid(),
            "revision": self.store.revision,
            "objects": sum(self.store.counts().values()),
            **self.facts(),
        }

    async def _backup(self) -> Response:
        path = self.passing_dir / f"backup-{self.store.revision}-{next(_numbers)}"
        await self.store.backup(path)
        file = path.open("rb")
        path.unlink()  # what is open can be read on, and nothing stays behind
        headers = {"Content-Type": "application/octet-stream"}
        return Response(200, headers, stream=_Pieces(file))


class _Pieces:
    """A file, piece by piece; closed even if nobody reads it."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file

    def __aiter__(self) -> "_Pieces":
        return self

    async def __anext__(self) -> bytes:
        piece = self._file.read(PIECE_BYTES)
        if not piece:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        self._file.close()


def memory_bytes(process: int | None = None) -> int:
    """How much memory a process holds now; where the system does not say, ours at its height."""
    try:
        pages = int(Path(f"/proc/{process or 'self'}/statm").read_text().split()[1])
        return pages * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def private_bytes(process: int) -> int:
    """How much memory a process holds that is in no file, and so is nobody else's too."""
    try:
        fields = Path(f"/proc/{process}/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * resource.getpagesize()
