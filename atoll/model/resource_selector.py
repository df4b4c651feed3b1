"""Which objects somebody means by kind, and by name or labels, and how closely.

A selector and an object come in, a degree comes out. How selectors are written, and which one wins
among several that mean an object, is the business of each dialect.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from atoll.model.selector import Operator, Selector
from atoll.wire import Object

LabelKeys = tuple[tuple[str, str | None], ...]
"""Labels with their values, of which an object must have one; None stands for any value."""


class Closeness(IntEnum):
    """How closely a selector means an object; the closer one wins among equals."""

    NOT_MEANT = 0
    KIND = 1
    LABELS = 2
    NAME = 3


@dataclass(frozen=True, slots=True)
class ResourceSelector:
    """Objects of one kind: the one of a name, or those with certain labels, or all of them.

    Without a namespace those of every namespace, and of none, are meant.
    """

    api_version: str
    kind: str
    namespace: str = ""
    name: str = ""
    labels: Selector | None = None

    def closeness(self, wire: Object) -> Closeness:
        """How closely this means an object."""
        if self.api_version != wire.get("apiVersion") or self.kind != wire.get("kind"):
            return Closeness.NOT_MEANT
        metadata: Mapping[str, str] = wire.get("metadata") or {}
        if self.namespace and self.namespace != metadata.get("namespace"):
            return Closeness.NOT_MEANT
        if self.name:
            return Closeness.NAME if self.name == metadata.get("name") else Closeness.NOT_MEANT
        if _is_in_every_namespace(wire):
            return Closeness.NOT_MEANT
        if self.labels is None:
            return Closeness.KIND
        matches = self.labels.matches((wire.get("metadata") or {}).get("labels") or {})
        return Closeness.LABELS if matches else Closeness.NOT_MEANT

    def by_labels(self) -> Iterator[LabelKeys]:
        """Ways to find what is meant by its labels: each finds all of it, and maybe more."""
        for each in self.labels.requirements if self.labels is not None and not self.name else ():
            if each.operator is Operator.IN:
                yield tuple((each.key, value) for value in each.values)
            elif each.operator is Operator.EXISTS:
                yield ((each.key, None),)


def label_keys(wire: Object) -> Iterator[tuple[str, str | None]]:
    """What an object is found by: each of its labels with its value, and with any."""
    for key, value in ((wire.get("metadata") or {}).get("labels") or {}).items():
        yield key, value
        yield key, None


def _is_in_every_namespace(wire: Object) -> bool:
    """Whether each cluster makes one by itself: whoever means ours must name or label it."""
    metadata = wire.get("metadata") or {}
    is_default = (wire.get("kind"), metadata.get("name")) == ("ServiceAccount", "default")
    return is_default and not metadata.get("labels")
