"""A fleet as people write it, YAML or JSON, to descriptions; or the first thing wrong, and where.

Nothing is overlooked: a field that nobody reads is refused, with the one that was probably meant.
Which files there are, and which of them an instance has, is not known here (see `choosing_fleet`).
"""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from atoll.apiserver.bodies.yaml_text import read_yaml
from atoll.dialects.karmada import annotations
from atoll.dialects.karmada.cluster_rules import name_problems
from atoll.dialects.kubernetes.names import label_faults, label_value_faults, qualified_faults
from atoll.dialects.wire import at, checked, elements, number, parts, quantity, text
from atoll.errors import Invalid, Malformed, UsageError
from atoll.model.duration import parse
from atoll.simulated.fleets import Description, Fleet, Pool, Tenant
from atoll.wire import Object

CLUSTERS_MAX = 1000
NODES_USUAL = 3
NODES_MAX = 10_000  # of one cluster
REPLICAS_MAX = 100_000
SHOWN_MAX = 60
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_NUMBER = re.compile(r"\{number(?::0(\d))?\}")
_TOP = ("about", "clusters")
_CLUSTER = (
    *("name", "count", "provider", "region", "zones", "labels", "annotations", "taints"),
    *("price", "pools", "tenants", "pods"),
)
_POOL = ("count", "cpu", "memory", "pods", "resources", "labels", "taints", "zones")
_TENANT = ("name", "replicas", "cpu", "memory")
_PODS = ("startDelay", "jobDuration", "endDelay")


class _Wrong(Exception):
    """Something in the document is wrong: where, and what."""


def read_fleet(name: str, written: bytes, where: str) -> Fleet:
    """The fleet in this text; UsageError says, with `where` it is from, what is wrong with it."""
    try:
        read = read_yaml(written)
    except Malformed as error:
        raise UsageError(f"{where}: {error}") from error
    if read.repeated:
        raise UsageError(f"{where}: {read.repeated[0]}")
    return fleet_of(name, read.value, where)


def fleet_of(name: str, document: Any, where: str) -> Fleet:
    """The fleet in this document."""
    try:
        if not isinstance(document, dict):
            raise _Wrong('a fleet is an object with a list of "clusters"')
        _known(document, "", _TOP)
        return Fleet(name, text(document, "about", ""), _clusters(document), document)
    except Invalid as error:
        colon = "" if error.problem.startswith(("is ", "must ")) else ":"
        what = f"{_shown(error.value)}{colon} {error.problem}"
        raise UsageError(f"{where}: {error.field}: {what}") from error
    except _Wrong as error:
        raise UsageError(f"{where}: {error}") from error


def _clusters(document: Object) -> tuple[Description, ...]:
    found: dict[str, Description] = {}
    for path, wire in parts(document, "clusters", ""):
        for one in _of_one_entry(wire, path):
            if one.name in found:
                raise _Wrong(f'{path}.name: there are two clusters named "{one.name}"')
            found[one.name] = one
            if len(found) > CLUSTERS_MAX:
                raise _Wrong(f"{path}: there can be no more than {CLUSTERS_MAX} clusters")
    if not found:
        raise _Wrong("clusters: there must be at least one")
    return tuple(found.values())


def _of_one_entry(wire: Object, path: str) -> Iterable[Description]:
    """The clusters of one entry: equal, but for the number in their name."""
    _known(wire, path, _CLUSTER)
    count = _count(wire, "count", path, usual=1, most=CLUSTERS_MAX)
    name, region = text(wire, "name", path), _place(wire, "region", path)
    if (_NUMBER.search(name) is None) is ("count" in wire):
        problem = 'a name with "{number}" and a count belong together'
        raise _Wrong(f"{path}.name: {_shown(name)}: {problem}")
    zones = _places(wire, "zones", path)
    pods = checked(wire.get("pods") or {}, at(path, "pods"))
    _known(pods, at(path, "pods"), _PODS)
    for index in range(1, count + 1):
        yield Description(
            name=_cluster_name(name, index, path),
            provider=_place(wire, "provider", path),
            region=region,
            zones=zones,
            taints=_taints(wire, path),
            labels=_labels(wire, path),
            annotations=_annotations(wire, path),
            pools=_pools(wire, path, region, zones),
            tenants=tuple(_tenants(wire, path)),
            start_s=_span(pods, "startDelay", at(path, "pods")),
            job_s=_span(pods, "jobDuration", at(path, "pods")),
            end_s=_span(pods, "endDelay", at(path, "pods")),
        )


def _cluster_name(pattern: str, index: int, path: str) -> str:
    name = _NUMBER.sub(lambda found: str(index).zfill(int(found[1] or 0)), pattern)
    for problem in name_problems(name):
        raise _Wrong(f"{path}.name: {_shown(name)} {problem}")
    return name


def _pools(
    cluster: Object, path: str, region: str, cluster_zones: tuple[str, ...]
) -> tuple[Pool, ...]:
    """The pools as they are asked for, each evenly in its zones."""
    found: list[Pool] = []
    asked = cluster if cluster.get("pools") is not None else {"pools": [{"count": NODES_USUAL}]}
    for here, wire in parts(asked, "pools", path):
        _known(wire, here, _POOL)
        more = {
            _checked_name(key, at(here, "resources")): _quantity(value, f"{here}.resources[{key}]")
            for key, value in checked(wire.get("resources") or {}, at(here, "resources")).items()
        }
        zones = _places(wire, "zones", here) or cluster_zones or ("",)
        count = _count(wire, "count", here, usual=1, most=NODES_MAX)
        share, rest = divmod(count, len(zones))
        found += [
            Pool(
                count=share + (place < rest),
                cpu=_quantity(wire.get("cpu", "8"), at(here, "cpu")),
                memory=_quantity(wire.get("memory", "32Gi"), at(here, "memory")),
                pods=_count(wire, "pods", here, usual=110, most=NODES_MAX),
                more=more,
                labels=_labels(wire, here),
                taints=_taints(wire, here),
                zone=zone,
                region=region,
            )
            for place, zone in enumerate(zones)
        ]
    if sum(pool.count for pool in found) > NODES_MAX:
        raise _Wrong(f"{path}.pools: a cluster can have no more than {NODES_MAX} nodes")
    return tuple(pool for pool in found if pool.count)


def _tenants(cluster: Object, path: str) -> Iterable[Tenant]:
    names: set[str] = set()
    for here, wire in parts(cluster, "tenants", path):
        _known(wire, here, _TENANT)
        name = text(wire, "name", here)
        for problem in label_faults(name):
            raise _Wrong(f"{here}.name: {_shown(name)}: {problem}")
        if name in names:
            raise _Wrong(f'{here}.name: there are two tenants named "{name}"')
        names.add(name)
        yield Tenant(
            name=name,
            replicas=_count(wire, "replicas", here, usual=1, most=REPLICAS_MAX),
            cpu=_quantity(wire.get("cpu", "100m"), at(here, "cpu")),
            memory=_quantity(wire.get("memory", "128Mi"), at(here, "memory")),
        )


def _annotations(wire: Object, path: str) -> Mapping[str, str]:
    """The annotations, with the price among them."""
    given = _texts(wire, "annotations", path)
    for key in given:
        _checked_name(key, at(path, "annotations"))
    prices = checked(wire.get("price") or {}, at(path, "price"))
    if not prices:
        return given
    listed = ", ".join(f"{key}={_written(value)}" for key, value in prices.items())
    try:
        annotations.price({annotations.PRICE: listed})
    except Invalid as error:
        raise Invalid(at(path, "price"), error.value, error.problem) from error
    return {**given, annotations.PRICE: listed}


def _labels(wire: Object, path: str) -> Mapping[str, str]:
    given = _texts(wire, "labels", path)
    for key, value in given.items():
        _checked_name(key, at(path, "labels"))
        for problem in label_value_faults(value):
            raise _Wrong(f"{path}.labels[{key}]: {_shown(value)}: {problem}")
    return given


def _texts(wire: Object, key: str, path: str) -> dict[str, str]:
    """A map of texts. What YAML takes for a number or a truth is refused, as Kubernetes does."""
    given = checked(wire.get(key) or {}, at(path, key))
    for name, value in given.items():
        if not isinstance(value, str):
            raise Invalid(f"{at(path, key)}[{name}]", value, "must be text: put it in quotes")
    return dict(given)


def _taints(wire: Object, path: str) -> tuple[str, ...]:
    found = []
    for index, written in enumerate(elements(wire, "taints", path)):
        key, _, effect = str(written).rpartition(":")
        key, _, value = key.partition("=")
        if effect not in EFFECTS or qualified_faults(key) or label_value_faults(value):
            problem = f"is no taint; write key:Effect or key=value:Effect, of {', '.join(EFFECTS)}"
            raise Invalid(f"{path}.taints[{index}]", written, problem)
        found.append(str(written))
    return tuple(found)


def _place(wire: Object, key: str, path: str) -> str:
    value = text(wire, key, path)
    for problem in label_value_faults(value):
        raise _Wrong(f"{path}.{key}: {_shown(value)}: {problem}")
    return value


def _places(wire: Object, key: str, path: str) -> tuple[str, ...]:
    found = {f"{key}[{index}]": one for index, one in enumerate(elements(wire, key, path))}
    return tuple(_place(found, each, path) for each in found)


def _checked_name(key: str, path: str) -> str:
    for problem in qualified_faults(key):
        raise _Wrong(f"{path}: {_shown(key)}: {problem}")
    return key


def _count(wire: Object, key: str, path: str, *, usual: int, most: int) -> int:
    found = number(wire, key, path, most=most)
    return usual if found is None else found


def _quantity(value: Any, path: str) -> str:
    if quantity(value, path)[0] < 0:
        raise Invalid(path, value, "must not be negative")
    return str(value)


def _span(wire: Object, key: str, path: str) -> float:
    written = wire.get(key, "0")
    found = parse(str(written))
    if found is None:
        raise Invalid(at(path, key), written, "is no span of time; write for example 2s or 500ms")
    return found


def _known(wire: Object, path: str, fields: tuple[str, ...]) -> None:
    for key in wire:
        if key not in fields:
            near = difflib.get_close_matches(str(key), fields, n=1)
            meant = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(fields)}"
            raise _Wrong(f"{at(path, str(key))}: there is no such field; {meant}")


def _written(value: Any) -> str:
    """A number as it was written, whatever its size."""
    return f"{Decimal(repr(value)):f}" if isinstance(value, float) else str(value)


def _shown(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= SHOWN_MAX else f"{shown[:SHOWN_MAX]}…"
