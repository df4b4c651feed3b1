"""ClusterPrice, Atoll's own kind: what a cluster charges, who says so, and how long it holds.

In: the object as on the wire. Out: its value, or everything that is wrong with the object, each
with its field. Which quote counts at a moment is not known here (see `control.prices`).
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from atoll.dialects.kubernetes import metadata
from atoll.dialects.wire import at, instant, name, part, parts, text, text_by_name
from atoll.errors import Invalid
from atoll.model.amount import CPU, MEMORY
from atoll.model.price import NANO, ClusterPrice, Price, Quote
from atoll.wire import Object

GROUP = "placement.atoll.io"
API_VERSION = f"{GROUP}/v1alpha1"
KIND = "ClusterPrice"
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", flags=re.ASCII)
_CURRENCY = re.compile(r"[A-Z]{3}", flags=re.ASCII)
_PER = {CPU: "perCPUHour", MEMORY: "perGiBHour"}
_OTHERS = "perResourceHour"


def nanos(written: str, path: str, priced: str) -> int:
    """A price as it is written, in billionths."""
    if not _NUMBER.fullmatch(written):
        problem = f"the price of {priced} must be a decimal number, not negative, of up to nine"
        raise Invalid(path, written, f"{problem} places")
    return int(Decimal(written) * NANO)


def currency(written: str, path: str) -> str:
    """The name of a currency."""
    if not _CURRENCY.fullmatch(written):
        raise Invalid(path, written, "must be a currency in three capital letters, such as EUR")
    return written


def defaulted(wire: Object) -> Object:
    """A price whose cluster is not given is that of the cluster of its own name."""
    spec, own = wire.get("spec"), (wire.get("metadata") or {}).get("name")
    if not isinstance(spec, dict) or spec.get("cluster") or not own:
        return wire
    return {**wire, "spec": {**spec, "cluster": own}}


def decode(wire: Object, before: ClusterPrice | None = None) -> ClusterPrice:
    """The price that this object is, with the first thing that is wrong with it."""
    meta = metadata.decode(wire)
    try:
        status = part(wire, "status", "") or {}
        conditions = tuple(each for _, each in parts(status, "conditions", "status"))
        return ClusterPrice(wire, meta, _quote(wire), conditions)
    except Invalid as problem:
        return ClusterPrice(wire, meta, problem)


def _quote(wire: Object) -> Quote:
    for problem in problems(wire):
        raise problem
    spec = part(defaulted(wire), "spec", "") or {}
    others = text_by_name(spec, _OTHERS, "spec")
    path = at("spec", _OTHERS)
    price = Price(
        cpu=_price(spec, CPU),
        gib=_price(spec, MEMORY),
        others={key: nanos(value, path, key) for key, value in others.items()},
        currency=text(spec, "currency", "spec"),
    )
    since, until = (_seconds(spec, key) for key in ("validFrom", "validUntil"))
    return Quote(name(spec, "cluster", "spec"), price, since, until)


def problems(wire: Object) -> Iterator[Invalid]:
    """Everything that is wrong with a ClusterPrice."""
    spec = part(wire, "spec", "") or {}
    checks = (
        lambda: currency(text(spec, "currency", "spec"), "spec.currency"),
        lambda: _price(spec, CPU),
        lambda: _price(spec, MEMORY),
        lambda: instant(spec, "asOf", "spec"),
        lambda: _span(spec),
    )
    for check in checks:
        try:
            check()
        except Invalid as problem:
            yield problem
    yield from _other_problems(spec)
    if not any(spec.get(key) for key in (*_PER.values(), _OTHERS)):
        known = ", ".join((*_PER.values(), _OTHERS))
        yield Invalid("spec", {}, f"must give at least one price: {known}")


def _other_problems(spec: Object) -> Iterator[Invalid]:
    try:
        others = text_by_name(spec, _OTHERS, "spec")
    except Invalid as problem:
        yield problem
        return
    for key, value in others.items():
        path = f"spec.{_OTHERS}[{key}]"
        if key in _PER:
            yield Invalid(path, value, f"the price of {key} is given as {_PER[key]}")
        try:
            nanos(value, path, key)
        except Invalid as problem:
            yield problem


def _price(spec: Object, resource: str) -> int | None:
    key = _PER[resource]
    written = text(spec, key, "spec")
    return nanos(written, at("spec", key), resource) if written else None


def _span(spec: Object) -> None:
    since, until = (_seconds(spec, key) for key in ("validFrom", "validUntil"))
    if since is not None and until is not None and until <= since:
        problem = f"must be later than validFrom, {spec['validFrom']}"
        raise Invalid("spec.validUntil", spec["validUntil"], problem)


def _seconds(spec: Object, key: str) -> float | None:
    found = instant(spec, key, "spec")
    return None if found is None else found / 10**9
