"""Speaking as a front proxy: what this server shows, and how it tells for whom it asks.

A server behind this one trusts a client certificate of the front proxy's authority, and takes the
caller from the headers beside it; so does this one (`authentication`). Which server is asked is not
known here.
"""

from dataclasses import dataclass, field, replace
from urllib.parse import quote

from atoll.apiserver import authentication
from atoll.apiserver.authentication import Identity
from atoll.apiserver.status import bad_request
from atoll.exchange import Headers, Response

_PLAIN = "!#$&'*+-.^_`|~"  # what else may stand in the name of a header


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """What this server shows to others when it speaks for its callers; all PEM."""

    ca: bytes
    certificate: bytes
    key: bytes = field(repr=False)


# Whose hop they describe ends here; the caller's credentials are for this server alone.
_NOT_SENT = frozenset(["authorization", "host", "content-length", "transfer-encoding"])
_NOT_TOLD = frozenset(["audit-id", "cache-control", "date"])


def sent_on(headers: Headers) -> dict[str, str]:
    """What of a request's headers is meant for the server that is asked in the end."""
    return {
        name: value
        for name, value in headers.items()
        if name not in _NOT_SENT and not name.startswith("impersonate-")
    }


def told_back(response: Response) -> Response:
    """What that server answers, as the caller is told it."""
    told = {key: value for key, value in response.headers.items() if key not in _NOT_TOLD}
    return replace(response, headers=told)


def is_claim(header: str) -> bool:
    """Whether a header says who is asking; nobody but a front proxy may."""
    return header.startswith(authentication.REMOTE)


def headers_of(identity: Identity) -> dict[str, str]:
    """How a server behind this one is told who asks; ApiError if that cannot be told."""
    told = {
        authentication.REMOTE_USER: (identity.name,),
        authentication.REMOTE_UID: (identity.uid,),
        authentication.REMOTE_GROUP: identity.groups,
    }
    for key, values in identity.extra:
        told[authentication.REMOTE_EXTRA + quote(key.lower(), safe=_PLAIN)] = values
    return {name: _lines(values) for name, values in told.items() if any(values)}


def _lines(values: tuple[str, ...]) -> str:
    """The values of a header, each on a line of its own."""
    # One with a line break in it would arrive as two: another group than the caller's.
    if any(not value.isprintable() for value in values):
        raise bad_request("who asks cannot be told to the server behind this one")
    return "\n".join(values)
