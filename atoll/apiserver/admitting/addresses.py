"""Addresses and node ports of Services: each is given to one of them, until that is gone.

Follows the store and remembers who has what. An address that a Service asks for is left to it, be
it within our range or not: many Services are templates for other clusters, which decide. Node ports
are given only where pods run.
"""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address
from typing import Any

import orjson

from atoll.apiserver.admission import Admission
from atoll.apiserver.kinds.reading import items, part, parts, text
from atoll.effects import Chance
from atoll.store.record import Event
from atoll.store.store import Store
from atoll.wire import Wire

Holder = str | int  # an address, or a node port

COLLECTION = "services"
_FIRST, _LAST = IPv4Address("10.96.1.0"), IPv4Address("10.96.255.254")
_PORTS = range(30000, 32768)


class Addresses:
    """Who has which address and which node port."""

    def __init__(self, store: Store, chance: Chance, *, gives_ports: bool) -> None:
        self._store = store
        self._chance = chance.of("service addresses")
        self._gives_ports = gives_ports
        self._holders: dict[Holder, str] = {}

    def load(self) -> None:
        """Remember what the stored Services have."""
        for record in self._store.page(COLLECTION).records:
            self._note(record.name, orjson.loads(record.value))

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.after.collection == COLLECTION and not event.removed:
                self._note(event.after.name, orjson.loads(event.after.value))

    def _note(self, key: str, service: Wire) -> None:
        self._holders.update(dict.fromkeys(_held(service), key))

    def assigned(self, seen: Admission, service: Wire) -> Wire:
        """The Service with what it needs and did not ask for."""
        spec, before = part(service, "spec"), part(seen.old, "spec")
        if seen.subresource or spec.get("type") == "ExternalName":
            return service
        key, changed = f"{seen.namespace}/{seen.name}", dict(spec)
        had = _has_address(before) and before.get("type") != "ExternalName"
        if not _has_address(spec) and not had:
            address = str(self._free(key, self._addresses()))
            changed |= {"clusterIP": address, "clusterIPs": [address]}
        if self._gives_ports and _needs_ports(spec):
            changed["ports"] = self._with_ports(key, spec, before)
        if changed == spec:
            return service
        if not seen.dry_run:
            self._note(key, {"spec": changed})
        return {**service, "spec": changed}

    def _with_ports(self, key: str, spec: Wire, before: Wire) -> list[Wire]:
        """Its ports, each with one of the nodes'; those it had it keeps."""
        had = {_port(port): port["nodePort"] for port in parts(before, "ports") if _is_open(port)}
        asked = {port["nodePort"] for port in parts(spec, "ports") if _is_open(port)}
        found = []
        for port in parts(spec, "ports"):
            if not _is_open(port):
                number = had.get(_port(port))
                if number is None or number in asked:
                    number = self._free(key, (n for n in self._ports() if n not in asked))
                asked.add(number)
                found.append({**port, "nodePort": number})
            else:
                found.append(port)
        return found

    def _addresses(self) -> Iterable[str]:
        while True:
            yield str(IPv4Address(self._chance.randint(int(_FIRST), int(_LAST))))

    def _ports(self) -> Iterable[int]:
        while True:
            yield self._chance.choice(_PORTS)

    def _free(self, key: str, choices: Iterable[Holder]) -> Any:
        """The first of these that nobody has; so many are there that one is soon found."""
        return next(choice for choice in choices if self._is_free(choice, key))

    def _is_free(self, choice: Holder, key: str) -> bool:
        """Whether nobody has it any more: its last holder is gone, or has let go of it."""
        holder = self._holders.get(choice)
        if holder is None or holder == key:
            return True
        record = self._store.latest(COLLECTION, holder)
        if record is not None and choice in _held(orjson.loads(record.value)):
            return False
        del self._holders[choice]
        return True


def _held(service: Wire) -> list[Holder]:
    spec = part(service, "spec")
    addresses = [str(address) for address in items(spec, "clusterIPs") if address != "None"]
    return [*addresses, *(port["nodePort"] for port in parts(spec, "ports") if _is_open(port))]


def _has_address(spec: Wire) -> bool:
    return bool(text(spec, "clusterIP") or items(spec, "clusterIPs"))


def _needs_ports(spec: Wire) -> bool:
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return spec.get("type") == "NodePort"


def _is_open(port: Wire) -> bool:
    return bool(port.get("nodePort"))


def _port(port: Wire) -> tuple[Any, Any]:
    return port.get("protocol"), port.get("port")
