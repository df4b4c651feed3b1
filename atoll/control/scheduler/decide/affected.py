"""Which bindings must be looked at when a cluster changes.

A cluster as it was and as it is come in, after the bindings there are; those it may matter to come
out, as in Karmada: the affinity is tested with the old cluster and with the new one. We go further
than Karmada: a cluster that joins counts, one that is gone counts, and so do the APIs it serves and
its properties; its price counts for those who choose by price; tiers of overflow are looked at, and
terms after the observed one.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import count

from atoll.control.works.decide.overriding.targeting import matches
from atoll.dialects.karmada.standing import to_schedule
from atoll.model.action import Ref
from atoll.model.affinity import Affinity
from atoll.model.cluster import Cluster
from atoll.model.intent import Failback, Intent
from atoll.model.named import Named
from atoll.model.resource_binding import ResourceBinding
from atoll.model.standing import Standing
from atoll.scheduling.cycle import terms_from
from atoll.scheduling.traits import trait_facts

_ANY = ""
"""In the place of a cluster's name: of whatever name it is."""
_Choice = tuple[Intent, int]
"""What is wanted, and the first of the terms that may be decided by."""
_Tie = tuple[str, bool]
"""The name of a cluster that matters whatever it is like, and whether prices matter as well."""


class Change(Enum):
    """How much a change of a cluster matters."""

    NONE = "none"
    ROOM = "room"  # there is more room: only who lacked room cares
    FACTS = "facts"


def change(before: Cluster | None, after: Cluster | None) -> Change:
    """How much it matters that a cluster changed so; None: it was not there, or is no more.

    Whatever it costs: see `by_price`.
    """
    if before is None or after is None:
        return Change.NONE if before is after else Change.FACTS
    if _facts(before) != _facts(after):
        return Change.FACTS
    return Change.ROOM if _has_more_room(before, after) else Change.NONE


class Interests:
    """Who cares for which clusters. What bindings choose by is tested once for all that share it,
    and not at all with clusters that it does not name.
    """

    def __init__(self) -> None:
        self._places: dict[Ref, int] = {}
        self._numbers = count()
        self._unread: dict[Ref, ResourceBinding] = {}
        """Those that changed since somebody asked last."""
        self._choices: dict[Ref, _Choice] = {}
        self._caring: Named[Ref, _Choice | _Tie] = Named()
        self._naming: Named[_Choice, str] = Named()

    def learn(self, binding: ResourceBinding) -> None:
        """A binding came, or changed."""
        self._unread[binding.ref] = binding
        if binding.ref not in self._places:
            self._places[binding.ref] = next(self._numbers)

    def forget(self, key: Ref) -> None:
        """A binding is no more."""
        self._unread.pop(key, None)
        self._places.pop(key, None)
        self._file(key, None)

    def affected(self, before: Cluster | None, after: Cluster | None) -> list[Ref]:
        """The bindings that may be placed otherwise, now that a cluster changed so."""
        return self._found([each for each in (before, after) if each is not None])

    def by_price(self, clusters: Sequence[Cluster]) -> list[Ref]:
        """The bindings that choose by price, and may choose among these clusters."""
        return self._found(clusters, by_price=True)

    def _found(self, clusters: Sequence[Cluster], *, by_price: bool = False) -> list[Ref]:
        """Those who care for one of these clusters; whom we know for longest comes first."""
        while self._unread:
            self._file(*self._unread.popitem())
        names, caring = {_ANY, *(each.name for each in clusters)}, list[_Choice | _Tie]()
        for is_by_price in (True,) if by_price else (True, False):
            caring += ((name, is_by_price) for name in names)
        for choice in self._naming.naming(*names):
            if (choice[0].by_price or not by_price) and _may_choose(choice, clusters):
                caring.append(choice)
        return sorted(self._caring.naming(*caring), key=self._places.__getitem__)

    def _file(self, key: Ref, seen: ResourceBinding | None) -> None:
        """File a binding; one that is not ours or cannot be read cares for nothing."""
        found = None if seen is None else to_schedule(seen)
        before = self._choices.pop(key, None)
        if seen is not None and isinstance(found, Standing):
            binding, intent = found.binding, found.binding.intent
            names = [target.name for target in binding.targets]
            is_settled = seen.status.observed_generation == found.generation
            if not is_settled and any(term.name for term in intent.terms):
                names.append(_ANY)  # which term it will be decided by is not known yet
            first = 0 if intent.failback is not Failback.NEVER else terms_from(binding).start
            self._choices[key] = intent, first
            ties = [(name, intent.by_price) for name in names]
            self._caring.put(key, (*ties, (intent, first)))
        else:
            self._caring.put(key)
        after = self._choices.get(key)
        for each in (before, after):
            if each is not None and before != after:
                self._naming.put(each, _names(each) if self._caring.count(each) else ())


def _names(choice: _Choice) -> Iterator[str]:
    """The clusters among which it chooses, as far as it names them."""
    for each in _tiers(choice):
        yield from each.names or (_ANY,)


def _may_choose(choice: _Choice, clusters: Iterable[Cluster]) -> bool:
    return any(matches(each, cluster) for each in _tiers(choice) for cluster in clusters)


def _tiers(choice: _Choice) -> Iterator[Affinity]:
    intent, first = choice
    for term in intent.terms[first:]:
        yield from (term.affinity, *term.overflow)


def _facts(cluster: Cluster) -> tuple[object, ...]:
    return trait_facts(cluster), cluster.grades


def _has_more_room(before: Cluster, after: Cluster) -> bool:
    if before.free is None or after.free is None:
        return after.free is not None
    had, has = before.free.resources, after.free.resources
    return after.free.pods > before.free.pods or any(
        name not in had or has[name].milli > had[name].milli for name in has
    )
