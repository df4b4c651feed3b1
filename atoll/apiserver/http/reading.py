"""Bytes in, requests out: the reading half of HTTP/1.1, without a socket, a loop or a clock.

llhttp does the parsing; here its callbacks become Request values, and what cannot or may not be
read becomes the answer that refuses it. After a refusal the rest of the input is thrown away. Who
the client is, and when it has been too slow, is not known here.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpRequestParser

from atoll.apiserver.http import refusals
from atoll.apiserver.http.limits import Limits
from atoll.exchange import Peer, Request, Response

_OF_PEOPLE = ("impersonate-", "x-remote-")
# The names that nearly all requests have, as they are mostly written.
_COMMON = ("Accept", "Accept-Encoding", "Content-Length", "Content-Type", "Host", "User-Agent")
_NAMES = {name.encode(): name.lower() for name in (*_COMMON, "Authorization")}


class Arrival(NamedTuple):
    """A request as it was read, or the answer to what is no acceptable request."""

    what: Request | Response
    keep_alive: bool
    modern: bool = True  # HTTP/1.1, so that an answer may be chunked


# What the client has to send next; after "nothing", what it sends is thrown away. Not an Enum:
# this is looked at several times per request, and members of an Enum are slow to reach.
Stage = Literal["request", "headers", "body", "nothing"]


class RequestReader:
    """Feed it bytes; take what has arrived from `arrivals`, in order."""

    __slots__ = (
        "_body",
        "_body_bytes",
        "_deaf",
        "_header_bytes",
        "_headers",
        "_limits",
        "_method",
        "_modern",
        "_parser",
        "_peer",
        "_progressed",
        "_quiet_bytes",
        "_refused",
        "_source",
        "_url",
        "arrivals",
        "at_end",
        "owes_continue",
        "stage",
    )

    def __init__(self, limits: Limits, peer: Peer | None, source: str = "") -> None:
        self._limits = limits
        self._peer = peer
        self._source = source
        self._parser = HttpRequestParser(self)
        self._url = b""
        self._method = ""
        self._modern = True
        self._headers: dict[str, str] = {}
        self._header_bytes = 0
        self._body: list[bytes] = []
        self._body_bytes = 0
        # Bytes that led nowhere: llhttp keeps an unfinished header or trailer in memory.
        self._quiet_bytes = 0
        self._progressed = False
        self._refused = False
        self._deaf = False  # to what else may come
        self.arrivals: list[Arrival] = []
        self.stage: Stage = "request"
        self.owes_continue = False  # the client waits for "100 Continue" before it sends the body
        self.at_end = False  # the last request we care for has been read to its end

    def feed(self, data: bytes) -> None:
        self._progressed = False
        rest = data
        while rest and not self._deaf:
            rest = self._parse(rest)
        self._quiet_bytes = 0 if self._progressed else self._quiet_bytes + len(data)
        if self._quiet_bytes > self._limits.header_bytes_max and not self._refused:
            self.refuse(refusals.headers_too_large())

    def _parse(self, data: bytes) -> bytes:
        """Parse to the end of the data, or of a request after which llhttp stops; give the rest."""
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            # The client offers another protocol. We go on with this one, as a server may.
            self._parser = HttpRequestParser(self)
            return data[upgrade.args[0] :]
        except HttpParserCallbackError:
            raise
        except HttpParserError:
            self._deaf = True
            # What follows a request that said "Connection: close" is an error to llhttp only.
            if self.stage != "nothing":
                self._refuse(refusals.unreadable())
        return b""

    def refuse(self, response: Response) -> None:
        """Answer this instead of whatever the client was about to send."""
        self._refuse(response)
        self._deaf = True

    def _refuse(self, response: Response) -> None:
        """Answer this; if the parser still works, read on, to find out where the request ends."""
        self._refused = True
        self.stage = "nothing"
        self._body = []
        self.owes_continue = False
        self.arrivals.append(Arrival(response, keep_alive=False))

    def close(self) -> None:
        """Let go of the parser, which holds on to us."""
        self._deaf = True
        del self._parser

    # What llhttp calls.

    def on_message_begin(self) -> None:
        if self._refused:
            return
        self._url = b""
        self._headers = {}
        self._header_bytes = 0
        self.stage = "headers"

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.stage != "headers":
            return  # a trailer; nothing we serve has a use for one
        self._header_bytes += len(name) + len(value) + 4
        key = _NAMES.get(name) or name.decode("latin-1").lower()
        text = _text(value.rstrip(b" \t"))
        if key in self._headers:
            # A group may have a comma in its name, so these are kept apart by what no value has.
            separator = "\n" if key.startswith(_OF_PEOPLE) else ", "
            text = f"{self._headers[key]}{separator}{text}"
        self._headers[key] = text

    def on_headers_complete(self) -> None:
        if self._refused:
            return
        self._progressed = True
        self.stage = "body"
        self._method = self._parser.get_method().decode("latin-1")
        self._modern = self._parser.get_http_version() == "1.1"
        refusal = self._why_refused()
        if refusal is not None:
            self._refuse(refusal)
        elif self._modern and "expect" in self._headers:
            self.owes_continue = True

    def _why_refused(self) -> Response | None:
        headers = self._headers
        if self._header_bytes + len(self._url) > self._limits.header_bytes_max:
            return refusals.headers_too_large()
        if self._modern and "host" not in headers:
            return refusals.unreadable("missing required Host header")
        if self._modern and headers.get("expect", "100-continue").lower() != "100-continue":
            return refusals.unmet_expectation()
        if int(headers.get("content-length", "0")) > self._limits.body_bytes_max:
            return refusals.body_too_large(self._limits.body_bytes_max)
        if self._parser.should_upgrade() and self._announces_body():
            # llhttp stops before such a body, so what is body and what is not cannot be told.
            return refusals.unreadable("a request with a body cannot change the protocol")
        return None

    def _announces_body(self) -> bool:
        headers = self._headers
        return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers

    def on_body(self, data: bytes) -> None:
        self._progressed = True
        self.owes_continue = False
        if self._refused:
            return
        self._body_bytes += len(data)
        if self._body_bytes > self._limits.body_bytes_max:
            self._refuse(refusals.body_too_large(self._limits.body_bytes_max))
        else:
            self._body.append(data)

    def on_message_complete(self) -> None:
        self._progressed = True
        self.owes_continue = False
        if self._refused:
            self.at_end = True
            return
        # Whoever sends this many at once gets these answered, and has to connect again.
        crowded = len(self.arrivals) >= self._limits.pipelined_at_once_max
        keep_alive = self._parser.should_keep_alive() and self._method != "CONNECT" and not crowded
        self.arrivals.append(Arrival(self._request(), keep_alive, self._modern))
        self._body = []
        self._body_bytes = 0
        self._refused = crowded
        self.stage = "request" if keep_alive else "nothing"
        self.at_end = not keep_alive

    def _request(self) -> Request:
        path, query = _target(self._url.decode("latin-1"))
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        headers: Mapping[str, str] = self._headers
        return Request(self._method, path, query, headers, body, self._peer, self._source)


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _target(url: str) -> tuple[str, str]:
    """Path and query, still encoded; a proxy may have sent the whole address."""
    path, _, query = url.partition("?")
    if not path.startswith("/") and "://" in path:
        authority_and_path = path.partition("://")[2]
        path = "/" + authority_and_path.partition("/")[2]
    return path, query
