"""The columns of endpoint slices."""

from atoll.apiserver.kinds.columns.cells import AGE, NAME
from atoll.apiserver.kinds.reading import Object, items, parts, text
from atoll.apiserver.resource import Column

_SHOWN = 3
_UNSET = "<unset>"


def _shortened(values: list[str]) -> str:
    more = len(values) - _SHOWN
    shown = ",".join(values[:_SHOWN])
    return f"{shown} + {more} more..." if more > 0 else shown or _UNSET


def _ports(piece: Object) -> str:
    ports = [port.get("port") for port in parts(piece, "ports")]
    return _shortened(["*" if port is None else str(port) for port in ports])


def _endpoints(piece: Object) -> str:
    endpoints = parts(piece, "endpoints")
    return _shortened([str(one) for each in endpoints for one in items(each, "addresses")])


ENDPOINT_SLICE = (
    NAME,
    Column("AddressType", lambda obj: text(obj, "addressType")),
    Column("Ports", _ports),
    Column("Endpoints", _endpoints),
    AGE,
)
