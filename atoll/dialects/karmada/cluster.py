"""Karmada's Cluster becomes the scheduler's: what it is, what it offers, what it has left.

Thousands of clusters are much alike, so what is equal is shared: sets of APIs, taints, resource
models and the words of labels. Prices, properties, scores and cluster sets are Atoll's own and
are read from annotations (see `annotations`). Nothing here knows what a policy asks for.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from sys import intern
from typing import Any

from atoll.dialects.karmada import annotations
from atoll.dialects.karmada.models import grades, nodes_by_grade
from atoll.dialects.kubernetes.tolerations import taints
from atoll.dialects.wire import (
    EXACT,
    amount,
    at,
    checked,
    elements,
    name,
    part,
    parts,
    quantity,
    text,
    text_by_name,
    texts,
)
from atoll.errors import Invalid
from atoll.model.amount import PODS, Amount, Resources
from atoll.model.cluster import Api, Cluster, Free
from atoll.wire import Object

SUMMARY = "status.resourceSummary"
LISTS = ("allocatable", "allocated", "allocating")
_NONE: Mapping[str, Any] = {}


def decode(wire: Mapping[str, Any]) -> Cluster:
    """The cluster this object describes."""
    metadata = part(checked(wire, "cluster"), "metadata", "") or _NONE
    spec = part(wire, "spec", "") or _NONE
    status = part(wire, "status", "") or _NONE
    summary = part(status, "resourceSummary", "status")
    models = grades(spec)
    own = text_by_name(metadata, "annotations", "metadata")
    return Cluster(
        name=name(metadata, "name", "metadata"),
        labels=_labels(metadata),
        provider=intern(text(spec, "provider", "spec")),
        region=intern(text(spec, "region", "spec")),
        zones=_shared_texts(texts(spec, "zones", "spec")),
        taints=taints(spec, "taints", "spec"),
        apis=_apis(status),
        deleting=bool(text(metadata, "deletionTimestamp", "metadata")),
        ready=_ready(status),
        free=None if summary is None else _free(summary),
        grades=models,
        nodes_by_grade=nodes_by_grade(summary or _NONE, models),
        price=annotations.price(own),
        properties=annotations.properties(own),
        scores=annotations.scores(own),
        sets=annotations.sets(own),
    )


def offered(wire: Mapping[str, Any]) -> Resources:
    """What a cluster has in all by its own summary; nothing where that cannot be told."""
    try:
        summary = part(part(wire, "status", "") or _NONE, "resourceSummary", "status") or _NONE
        here, listed = at(SUMMARY, LISTS[0]), part(summary, LISTS[0], SUMMARY) or _NONE
        return {key: amount(each, f"{here}[{key}]") for key, each in listed.items()}
    except Invalid:
        return {}


def _labels(metadata: Object) -> Mapping[str, str]:
    found = text_by_name(metadata, "labels", "metadata")
    return {intern(key): intern(value) for key, value in found.items()}


@lru_cache(maxsize=4096)
def _shared_texts(values: tuple[str, ...]) -> tuple[str, ...]:
    return values


def _apis(status: Object) -> frozenset[Api]:
    """Group and version with kind, of every resource served."""
    listed = elements(status, "apiEnablements", "status")
    try:
        return _shared_apis(
            frozenset(
                [(of["groupVersion"], each["kind"]) for of in listed for each in of["resources"]]
            )
        )
    except (KeyError, TypeError):  # not all as it should be: look at each for what is wrong
        return _shared_apis(frozenset(_each_api(status)))


def _each_api(status: Object) -> Iterator[Api]:
    for here, of in parts(status, "apiEnablements", "status"):
        version = text(of, "groupVersion", here)
        for there, each in parts(of, "resources", here):
            yield version, name(each, "kind", there)


@lru_cache(maxsize=1024)
def _shared_apis(apis: frozenset[Api]) -> frozenset[Api]:
    if not all(isinstance(word, str) for api in apis for word in api):
        raise TypeError
    return apis


def _ready(status: Object) -> bool | None:
    for here, each in parts(status, "conditions", "status"):
        if text(each, "type", here) == "Ready":
            return {"True": True, "False": False}.get(text(each, "status", here))
    return None


def _free(summary: Object) -> Free:
    lists = [(at(SUMMARY, key), part(summary, key, SUMMARY) or _NONE) for key in LISTS]
    held, *taken = (amount(each.get(PODS, "0"), f"{here}[{PODS}]").units for here, each in lists)
    resources = {intern(resource): _left(resource, lists) for resource in lists[0][1]}
    return Free(resources, held - sum(taken))


def _left(resource: str, lists: list[tuple[str, Object]]) -> Amount:
    """Allocatable less allocated less allocating, in the form Kubernetes' subtraction leaves."""
    here, allocatable = lists[0]
    value, binary = quantity(allocatable[resource], f"{here}[{resource}]")
    for here, taken in lists[1:]:
        if resource in taken:
            less, written = quantity(taken[resource], f"{here}[{resource}]")
            binary = written if not value else binary
            value = EXACT.subtract(value, less)
    return Amount.of(value, binary=binary)
