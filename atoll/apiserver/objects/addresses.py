"""Where a Service is reached from this server: by its endpoints, its cluster IP or another name.

Pure: a Service and its EndpointSlices come in, addresses go out, or why there are none, in the
words of kube-apiserver. Endpoints come first, for there may be nobody who routes cluster IPs.
"""

from collections.abc import Sequence

from atoll.wire import Wire

Address = tuple[str, int]


def addresses_of(service: Wire, slices: Sequence[Wire], port: int) -> list[Address] | str:
    """Where this port of a Service is reached; a sentence if it is not."""
    spec = service.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return [(spec.get("externalName") or "", port)]
    name, called = service["metadata"]["name"], port_name(service, port)
    if called is None:
        return f'no service port {port} found for service "{name}"'
    if found := endpoints(called, slices):
        return found
    address = spec.get("clusterIP") or "None"
    if address == "None" or slices:
        return f'no endpoints available for service "{name}"'
    return [(address, port)]


def port_name(service: Wire, port: int) -> str | None:
    """The name of a Service's port, which may be empty; None if it has none of this number."""
    for each in (service.get("spec") or {}).get("ports") or ():
        if each.get("port") == port:
            return each.get("name") or ""
    return None


def endpoints(name: str, slices: Sequence[Wire]) -> list[Address]:
    """The addresses that are ready, with their port of this name."""
    return [
        (address, port["port"])
        for each in slices
        for port in each.get("ports") or ()
        if (port.get("name") or "") == name and port.get("port")
        for endpoint in each.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") in (None, True)
        for address in (endpoint.get("addresses") or ())[:1]
    ]
