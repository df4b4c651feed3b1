"""The plane's templates as policies find them: by what they select, and by what they hold.

Templates are looked up by name, by a label, or all of a kind within a namespace, so that a policy
that means one of ten thousand is not held against each of them.
"""

from collections.abc import Iterable, Iterator

from atoll.client.mirror import Mirror
from atoll.control.hub import Hub
from atoll.control.wakes import TEMPLATES
from atoll.model.action import Ref
from atoll.model.named import Named
from atoll.model.policy import Claim
from atoll.model.resource_selector import ResourceSelector, label_keys
from atoll.wire import Wire


class Held:
    """Which templates carry the claim of which policy."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._claims: Named[Ref, Claim] = Named()
        hub.hear("policies", TEMPLATES, self._changed)

    def by(self, claim: Claim | None) -> list[Wire]:
        """The templates that carry a claim."""
        found = [] if claim is None else map(self._hub.plane.find, self._claims.naming(claim))
        return [each for each in found if each is not None]

    def _changed(self, before: Wire | None, after: Wire | None) -> None:
        claim = None if after is None else self._hub.claims.of(after)
        self._claims.put(Ref.of(after or before or {}), () if claim is None else (claim,))


def candidates(selector: ResourceSelector, mirror: Mirror) -> Iterable[Wire]:
    """Those among the objects of its kind that a selector may mean: all that it does, few more."""
    namespace = selector.namespace
    if selector.name and (namespace or not mirror.collection.namespaced):
        found = mirror.get(namespace, selector.name)
        return [] if found is None else [found]
    if selector.name:
        return mirror.by(_names, selector.name)
    sorter = _labels_within if namespace else _labels
    prefix = (namespace,) if namespace else ()
    ways = [[(*prefix, *pair) for pair in each] for each in selector.by_labels()]
    if ways:
        fewest = min(ways, key=lambda way: sum(mirror.count(sorter, each) for each in way))
        return [wire for each in fewest for wire in mirror.by(sorter, each)]
    return mirror.within(namespace) if namespace else mirror


def _names(wire: Wire) -> tuple[str]:
    return (wire["metadata"]["name"],)


def _labels(wire: Wire) -> Iterator[tuple[str, str | None]]:
    return label_keys(wire)


def _labels_within(wire: Wire) -> Iterator[tuple[str | None, ...]]:
    namespace = wire["metadata"].get("namespace") or ""
    return ((namespace, *each) for each in label_keys(wire))
