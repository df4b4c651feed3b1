"""The addresses of what is reached from outside: those of all members together.

Each address once, with all its ports, in a fixed order.
"""

from typing import Any

from atoll.dialects.wire import Wire, at, number, part, parts, text
from atoll.interpreting.aggregating.reports import news, reported
from atoll.interpreting.fields import inner
from atoll.interpreting.operations import Item

Address = tuple[str, str, str]
Port = tuple[int, str, str]


def service(template: Wire, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """The addresses of a load balancer; other services have no status."""
    if text(inner(template, "spec"), "type", "spec") != "LoadBalancer":
        return None
    return ingress(template, items)


def ingress(template: Wire, items: tuple[Item, ...]) -> dict[str, Any] | None:
    """The addresses in all members."""
    ports_by_address: dict[Address, set[Port]] = {}
    for path, status in reported(items):
        here = at(path, "loadBalancer")
        for place, each in parts(part(status, "loadBalancer", path) or {}, "ingress", here):
            ports_by_address.setdefault(_address(each, place), set()).update(_ports(each, place))
    points = [
        _written(address, sorted(ports_by_address[address]))
        for address in sorted(ports_by_address, key=_by_name_first)
    ]
    return news(template, {"loadBalancer": {"ingress": points} if points else {}})


def _address(wire: Wire, path: str) -> Address:
    return text(wire, "hostname", path), text(wire, "ip", path), text(wire, "ipMode", path)


def _by_name_first(address: Address) -> tuple[bool, str, str, bool, str]:
    """Names before mere numbers, and those that say how they are used before those that do not."""
    hostname, ip, mode = address
    return not hostname, hostname, ip, not mode, mode


def _ports(wire: Wire, path: str) -> list[Port]:
    return [
        (number(each, "port", at) or 0, text(each, "protocol", at), text(each, "error", at))
        for at, each in parts(wire, "ports", path)
    ]


def _written(address: Address, ports: list[Port]) -> dict[str, Any]:
    hostname, ip, mode = address
    said = {"hostname": hostname, "ip": ip, "ipMode": mode}
    found: dict[str, Any] = {key: value for key, value in said.items() if value}
    if ports:
        found["ports"] = [
            {"port": port, "protocol": protocol} | ({"error": error} if error else {})
            for port, protocol, error in ports
        ]
    return found
