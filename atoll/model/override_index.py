"""The override policies there are, found by what they select and by what they look at.

In come policies as they change; out come those that may mean an object, and what a policy may
mean. Whether one does mean it, and which one wins, is for others to say.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from atoll.model.action import Ref
from atoll.model.named import Named
from atoll.model.policy import OverridePolicy
from atoll.model.resource_selector import ResourceSelector
from atoll.model.selector_index import SelectorIndex
from atoll.wire import Object

_EVERYTHING, _LOOKING, _RELABELLING, _RENAMING = "everything", "looking", "relabelling", "renaming"


class OverrideIndex:
    """The override policies of a plane."""

    def __init__(self) -> None:
        self._policies: dict[Ref, OverridePolicy] = {}
        self._selecting: SelectorIndex[Ref] = SelectorIndex()
        self._filed: Named[Ref, tuple[str, str]] = Named()
        """Those that are for everything in a namespace, or under none in the plane; those that
        look at something in clusters; and the cluster-wide ones that change what others select by.
        """

    def changed(self, before: OverridePolicy | None, after: OverridePolicy | None) -> None:
        """A policy came, changed or went."""
        known = after or before
        if known is None:
            return
        self._policies.pop(known.ref, None)
        if after is not None:
            self._policies[known.ref] = after
        self._selecting.put(known.ref, () if after is None else _within(after))
        self._filed.put(known.ref, () if after is None else _traits(after))

    def __iter__(self) -> Iterator[OverridePolicy]:
        return iter([*self._policies.values()])

    def of(self, wire: Object) -> list[OverridePolicy]:
        """The policies that may mean an object: all that do, and few that do not."""
        found = self._selecting.candidates(wire)
        spaces = ("", (wire.get("metadata") or {}).get("namespace") or "")
        found += self._filed.naming(*((_EVERYTHING, each) for each in spaces))
        return [self._policies[each] for each in found]

    def looking_at(self, keys: Iterable[str]) -> list[OverridePolicy]:
        """The policies that are for some clusters by these labels, or by their `LOCATION`."""
        found = self._filed.naming(*((_LOOKING, key) for key in keys))
        return [self._policies[each] for each in found]

    def reach(self, policy: OverridePolicy) -> tuple[ResourceSelector, ...] | None:
        """Selectors for all templates that a policy may mean; None: for everything in its reach.

        A namespace's policies select by what the cluster-wide ones make of a template.
        """
        if not policy.selectors or (policy.ref.namespace and self._filed.count((_RENAMING, ""))):
            return None
        selectors = tuple(_within(policy))
        if policy.ref.namespace and self._filed.count((_RELABELLING, "")):
            return tuple(each if each.name else replace(each, labels=None) for each in selectors)
        return selectors


def _traits(policy: OverridePolicy) -> Iterator[tuple[str, str]]:
    """What is to be known of a policy, beside what it selects."""
    if not policy.selectors:
        yield _EVERYTHING, policy.ref.namespace
    for rule in policy.rules:
        yield from ((_LOOKING, key) for key in rule.looks_at)
        if not policy.ref.namespace and rule.relabels:
            yield _RELABELLING, ""
        if not policy.ref.namespace and rule.renames:
            yield _RENAMING, ""


def _within(policy: OverridePolicy) -> Iterator[ResourceSelector]:
    """A policy's selectors; that of a namespace selects nothing outside of it."""
    own = policy.ref.namespace
    for each in policy.selectors:
        if not own:
            yield each
        elif each.namespace in ("", own):
            yield replace(each, namespace=own)
