"""Endpoints that people write for services without a selector, told in EndpointSlices too.

Endpoints and the slices they have so far come in; steps go out. An address with several sets of
ports is told once, with all of them.
"""

from ipaddress import IPv6Address, ip_address

from atoll.simulated.plans import slices
from atoll.simulated.plans.slices import Portion, Source
from atoll.simulated.plans.steps import Step
from atoll.wire import Wire

MANAGER = "endpointslicemirroring-controller.k8s.io"
_SKIP = "endpointslice.kubernetes.io/skip-mirror"
_LEADER = "control-plane.alpha.kubernetes.io/leader"
_HANDED_ON = ("hostname", "nodeName", "targetRef")
_NOT_HANDED_ON = (
    "endpoints.kubernetes.io/last-change-trigger-time",
    "kubectl.kubernetes.io/last-applied-configuration",
)
_MOST = 1000  # addresses in a slice; more are not told


def steps(endpoints: Wire | None, there: list[Wire]) -> list[Step]:
    """What to write of these endpoints; nothing is told of those that are gone or are not meant."""
    if endpoints is None or not _is_meant(endpoints["metadata"]):
        return slices.ended(there)
    notes = endpoints["metadata"].get("annotations") or {}
    kept = {key: value for key, value in notes.items() if key not in _NOT_HANDED_ON}
    return slices.steps(Source(endpoints, MANAGER, kept), _portions(endpoints), there)


def _is_meant(meta: Wire) -> bool:
    skipped = (meta.get("labels") or {}).get(_SKIP) == "true"
    return not skipped and _LEADER not in (meta.get("annotations") or {})


def _portions(endpoints: Wire) -> list[Portion]:
    found: list[Portion] = []
    for told, ports in _addresses(endpoints):
        family = "IPv6" if isinstance(ip_address(told["addresses"][0]), IPv6Address) else "IPv4"
        same = (one for one in found if (one.ports, one.family) == (ports, family))
        portion = next(same, None)
        if portion is None:
            found.append(Portion(ports, [told], family))
        elif len(portion.endpoints) < _MOST:
            portion.endpoints.append(told)
    return found


def _addresses(endpoints: Wire) -> list[tuple[Wire, list[Wire]]]:
    """Every address as slices tell it, with all of its ports."""
    found: list[tuple[Wire, list[Wire]]] = []
    for subset in endpoints.get("subsets") or ():
        ports = [{"name": "", **port} for port in subset.get("ports") or ()]
        for part, is_ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(part) or ():
                told = _endpoint(address, is_ready=is_ready)
                known = next((each for one, each in found if one == told), None)
                if known is None:
                    found.append((told, list(ports)))
                else:
                    known += [port for port in ports if port not in known]
    return found


def _endpoint(address: Wire, *, is_ready: bool) -> Wire:
    ip = str(ip_address(address["ip"]))
    told: Wire = {"addresses": [ip], "conditions": {"ready": is_ready}}
    return told | {key: address[key] for key in _HANDED_ON if key in address}
