"""Why a webhook could not be asked, in the words that kube-apiserver has for it.

Tools and people know those words; what happened comes in as the errors of our own client.
"""

import errno
import json
import os

from atoll.exchange import Response

_STATUSES = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may still be"
        " processing the request"
    ),
}
_AS_TOLD = (403, 406, 415)
_TOLD_MAX = 2048
_UNKNOWN_AUTHORITY = frozenset(
    [
        "unable to get local issuer certificate",
        "unable to get issuer certificate",
        "unable to verify the first certificate",
        "self-signed certificate",
        "self-signed certificate in certificate chain",
    ]
)


def refused(response: Response) -> str:
    """What an answer that is none says."""
    told = response.body[:_TOLD_MAX].decode(errors="replace").strip()
    if response.status in _AS_TOLD:
        return told or "unknown"
    if response.status in _STATUSES:
        return _STATUSES[response.status]
    if response.status >= 500:
        quoted = json.dumps(told or "unknown", ensure_ascii=False)
        return f"an error on the server ({quoted}) has prevented the request from succeeding"
    return (
        f"the server responded with the status code {response.status} but did not return more"
        " information"
    )


def unreachable(url: str, error: Exception, address: str) -> str:
    """Why nobody answered at a URL, whose server is at this address."""
    return f'Post "{url}": {_why(error, address)}'


def _why(error: Exception, address: str) -> str:
    if isinstance(error, TimeoutError):
        return "context deadline exceeded"
    cause = error.__cause__
    distrust = getattr(cause, "certificate_error", None)
    if distrust is not None:
        return f"tls: failed to verify certificate: x509: {_distrust(distrust)}"
    system = getattr(cause, "os_error", cause)
    number = getattr(system, "errno", None)
    if number == errno.ECONNREFUSED:
        return f"dial tcp {address}: connect: connection refused"
    if isinstance(number, int) and number > 0 and isinstance(system, OSError):
        return f"dial tcp {address}: connect: {os.strerror(number).lower()}"
    return str(error)


def _distrust(error: Exception) -> str:
    said = getattr(error, "verify_message", "") or str(error)
    if said in _UNKNOWN_AUTHORITY:
        return "certificate signed by unknown authority"
    if said == "certificate has expired":
        return "certificate has expired or is not yet valid"
    return str(said)
