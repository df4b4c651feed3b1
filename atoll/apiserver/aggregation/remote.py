"""An APIService that another server answers for, and where that server is to be found. Pure.

The object, its Service and that one's EndpointSlices come in; addresses go out, or what is wrong
with them, in the words of Kubernetes' aggregator.
"""

import binascii
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass

from atoll.apiserver.kinds.reading import given, number, text
from atoll.apiserver.objects import addresses
from atoll.apiserver.objects.addresses import Address
from atoll.apiserver.objects.conditions import is_true
from atoll.wire import Wire


@dataclass(frozen=True, slots=True)
class Remote:
    """A version of a group that another server serves, and what is known of that server."""

    name: str
    group: str
    version: str
    namespace: str
    service: str
    port: int
    ca: bytes | None
    skip_verification: bool
    group_priority: int
    version_priority: int
    available: bool

    @property
    def root(self) -> str:
        """Where all that it serves begins."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def told(self) -> str:
        return f'service/{self.service} in "{self.namespace}"'


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a server cannot be asked."""

    reason: str
    message: str


def remote_of(service: Wire) -> Remote | None:
    """What an APIService says of another server; None if it is for this one."""
    spec = given(service, "spec") or {}
    reference = given(spec, "service")
    if reference is None:
        return None
    return Remote(
        name=text(service, "metadata", "name"),
        group=text(spec, "group"),
        version=text(spec, "version"),
        namespace=text(reference, "namespace"),
        service=text(reference, "name"),
        port=number(reference, "port") or 443,
        ca=_decoded(text(spec, "caBundle")),
        skip_verification=spec.get("insecureSkipTLSVerify") is True,
        group_priority=number(spec, "groupPriorityMinimum"),
        version_priority=number(spec, "versionPriority"),
        available=is_true(service, "Available"),
    )


def _decoded(bundle: str) -> bytes | None:
    try:
        return b64decode(bundle) or None
    except binascii.Error:  # what is stored was checked; an older one may not have been
        return None


def find_fault(remote: Remote, service: Wire | None, slices: Sequence[Wire]) -> Fault | None:
    """What is wrong with the way to a server, as far as objects tell; None if nothing is."""
    if service is None:
        return Fault("ServiceNotFound", f"{remote.told} is not present")
    if text(service, "spec", "type") != "ClusterIP":
        return None
    port = addresses.port_name(service, remote.port)
    if port is None:
        return Fault("ServicePortError", f"{remote.told} is not listening on port {remote.port}")
    if not slices:
        return Fault("EndpointsNotFound", f"cannot find endpointslices for {remote.told}")
    if not addresses.endpoints(port, slices):
        told = f'endpointslices for {remote.told} have no addresses with port name "{port}"'
        return Fault("MissingEndpoints", told)
    return None


def addresses_of(remote: Remote, service: Wire, slices: Sequence[Wire]) -> list[Address]:
    """Where a server may be reached."""
    found = addresses.addresses_of(service, slices, remote.port)
    return [] if isinstance(found, str) else found
