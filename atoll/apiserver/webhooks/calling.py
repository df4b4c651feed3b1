"""Calling one webhook, wherever its configuration says it is.

The way as users write it (a URL or a Service) and a body come in, the answer's body goes out; why
there is none is told in Kubernetes' words. Services are found in the server's own store.
"""

import base64
import binascii
import errno
import json
import os
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

from atoll.apiserver.kinds.reading import given, number, text
from atoll.apiserver.objects.addresses import addresses_of
from atoll.client.posting import Place, Posting
from atoll.client.transport import Unreachable
from atoll.effects import Chance
from atoll.errors import UsageError
from atoll.exchange import Response
from atoll.store.store import Store
from atoll.wire import Wire

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


_SLICES = "endpointslices.discovery.k8s.io"
_SERVICE_NAME = "kubernetes.io/service-name"


class CallFailed(Exception):
    """There was no answer, or none that counts; told in Kubernetes' words.

    `reason` is what happened, without what was being done.
    """

    def __init__(self, doing: str, reason: str = "") -> None:
        super().__init__(f"{doing}: {reason}" if reason else doing)
        self.reason = reason


_CALLING, _PREPARING = "failed to call webhook", "could not get REST client"


@dataclass(frozen=True, slots=True)
class _Target:
    place: Place
    address: str
    url: str  # as it is told
    path: str


class Calling:
    """Calls webhooks on behalf of one API server."""

    def __init__(self, store: Store, chance: Chance, posting: Posting) -> None:
        self._store = store
        self._chance = chance
        self._posting = posting

    async def call(self, config: Wire, body: bytes, timeout_s: int) -> bytes:
        """The body of what a webhook answers; CallFailed if it does not."""
        target = self._target(config)
        query = f"timeout={timeout_s}s"
        try:
            answer = await self._posting.post(target.place, target.path, query, body, timeout_s)
        except (TimeoutError, Unreachable) as error:
            told = unreachable(f"{target.url}?{query}", error, target.address)
            raise CallFailed(_CALLING, told) from error
        except UsageError as error:
            raise CallFailed(_PREPARING, str(error)) from error
        if not 200 <= answer.status < 300:
            raise CallFailed(_CALLING, refused(answer))
        return answer.body

    async def keep(self) -> None:
        """Keep connections for as long as this runs."""
        await self._posting.keep()

    def _target(self, config: Wire) -> _Target:
        try:
            ca = base64.b64decode(text(config, "caBundle")) or None
        except binascii.Error as error:
            raise CallFailed(_PREPARING, f"caBundle: {error}") from error
        service = given(config, "service")
        if service is not None:
            return self._service(service, ca)
        url = urlsplit(text(config, "url"))
        server, path = f"{url.scheme}://{url.netloc}", url.path or "/"
        host = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname
        return _Target(Place(server, ca), f"{host}:{url.port or 443}", f"{server}{path}", path)

    def _service(self, service: Wire, ca: bytes | None) -> _Target:
        namespace, name = text(service, "namespace"), text(service, "name")
        port = number(service, "port") or 443
        known = f"{name}.{namespace}.svc"
        path = "/" + text(service, "path").removeprefix("/")
        url = f"https://{known}:{port}{path}"
        host, there = self._chosen(namespace, name, port, url)
        address = f"[{host}]:{there}" if ":" in host else f"{host}:{there}"
        return _Target(Place(f"https://{address}", ca, known), address, url, path)

    def _chosen(self, namespace: str, name: str, port: int, url: str) -> tuple[str, int]:
        record = self._store.get("services", f"{namespace}/{name}")
        if record is None:
            raise _no_way(url, f'service "{name}" not found')
        service = orjson.loads(record.value)
        slices = [
            each
            for found in self._store.page(_SLICES, f"{namespace}/").records
            if text(each := orjson.loads(found.value), "metadata", "labels", _SERVICE_NAME) == name
        ]
        addresses = addresses_of(service, slices, port)
        if isinstance(addresses, str):
            raise _no_way(url, addresses)
        return self._chance.of("webhooks").choice(addresses)


def _no_way(url: str, why: str) -> CallFailed:
    return CallFailed(_CALLING, f'Post "{url}": {why}')
