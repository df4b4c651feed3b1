"""The answers that HTTP itself gives, when no handler is or can be asked.

What the API would also say (too large, overloaded, broken) is a Status object; what only HTTP knows
(an unreadable request, one that came too slowly) is plain text, as Go's server words it.
"""

from logging import Logger

import orjson

from atoll.apiserver.status import ApiError, internal_error, too_large, unavailable
from atoll.exchange import Handler, Request, Response


def unreadable(why: str = "") -> Response:
    return _text(400, "400 Bad Request" + (f": {why}" if why else ""))


def too_slow() -> Response:
    return _text(408, "408 Request Timeout")


def unmet_expectation() -> Response:
    return _text(417, "417 Expectation Failed")


def headers_too_large() -> Response:
    return _text(431, "431 Request Header Fields Too Large")


def body_too_large(limit: int) -> Response:
    return _status(too_large(f"Request entity too large: limit is {limit}"))


def too_many_connections(limit: int) -> Response:
    return _status(unavailable(f"too many connections: the limit is {limit}"))


def broken(what: str) -> Response:
    return _status(internal_error(what))


async def answered(handler: Handler, request: Request, log: Logger) -> Response:
    """What the handler answers; that it failed, if it did."""
    try:
        return await handler(request)
    except Exception as error:
        said = {"method": request.method, "path": request.path}
        log.exception("Failed to answer %(method)s %(path)s", said)
        return broken(type(error).__name__)


def _text(code: int, text: str) -> Response:
    return Response(code, {"Content-Type": "text/plain; charset=utf-8"}, text.encode())


def _status(error: ApiError) -> Response:
    headers = {
        "Content-Type": "application/json",
        "Cache-Control": "no-cache, private",
        **error.headers,
    }
    return Response(error.code, headers, orjson.dumps(error.status()))
