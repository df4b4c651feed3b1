"""EndpointSlices: which of those that are there to keep, to fill anew, to make and to end.

What should be told comes in as portions, with the slices that are there; steps go out. Where what
is told comes from, pods (`services`) or Endpoints (`mirroring`), is not known here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from atoll.simulated.plans.revisions import template_hash
from atoll.simulated.plans.steps import Change, Make, Step, end_of, key_of, owner
from atoll.wire import Wire

COLLECTION = "endpointslices.discovery.k8s.io"
OF_SERVICE, MANAGED = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"


@dataclass(frozen=True, slots=True)
class Portion:
    """What one slice should tell."""

    ports: list[Wire]
    endpoints: list[Wire]
    family: str = "IPv4"

    @property
    def told(self) -> Wire:
        return {"endpoints": self.endpoints, "ports": self.ports}


@dataclass(frozen=True, slots=True)
class Source:
    """What slices are made of: it owns them, and its name and labels are theirs."""

    object: Wire
    manager: str
    annotations: Mapping[str, str]

    @property
    def labels(self) -> Wire:
        meta = self.object["metadata"]
        own = {OF_SERVICE: meta["name"], MANAGED: self.manager}
        return {**(meta.get("labels") or {}), **own}


def steps(source: Source, portions: Iterable[Portion], there: list[Wire]) -> list[Step]:
    """See that these portions are told, with as few changes as it takes."""
    left = list(there)
    found: list[Step] = []
    unlike: list[Portion] = []
    for portion in portions:
        same = next((one for one in left if _fits(one, portion, ports=portion.ports)), None)
        if same is None:
            unlike.append(portion)
        else:
            left.remove(same)
            found += _changed(same, portion)
    taken = {one["metadata"]["name"] for one in there}
    for portion in unlike:
        other = next((one for one in left if _fits(one, portion)), None)
        if other is None:
            found.append(_made(source, portion, taken))
        else:
            left.remove(other)
            found += _changed(other, portion)
    return found + ended(left)


def ended(slices: Iterable[Wire]) -> list[Step]:
    """Slices that nothing is told by any more."""
    return [end_of(COLLECTION, one) for one in slices]


def _fits(one: Wire, portion: Portion, **parts: Any) -> bool:
    same = all((one.get(key) or []) == value for key, value in parts.items())
    return bool(one["addressType"] == portion.family and same)


def _changed(there: Wire, portion: Portion) -> list[Step]:
    if all((there.get(key) or []) == value for key, value in portion.told.items()):
        return []
    return [Change(key_of(COLLECTION, there), there["metadata"]["uid"], portion.told)]


def _made(source: Source, portion: Portion, taken: set[str]) -> Step:
    meta = source.object["metadata"]
    number = 0
    while (name := f"{meta['name']}-{template_hash([meta['uid'], number])[:5]}") in taken:
        number += 1
    taken.add(name)
    head: Wire = {
        "name": name,
        "namespace": meta["namespace"],
        "labels": source.labels,
        "ownerReferences": [owner(source.object)],
    }
    if source.annotations:
        head["annotations"] = dict(source.annotations)
    return Make(COLLECTION, {"metadata": head, "addressType": portion.family, **portion.told})
