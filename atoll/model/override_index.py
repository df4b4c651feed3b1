"""The override policies there are, found by what they select and by what they look at.

In come policies as they change; out come those that may mean an object, and what a policy may
mean. Whether one does mean it, and which one wins, is for others to say.
"""

from collections.abc import Iterator
from dataclasses import replace

from atoll.model.action import Object, Ref
from atoll.model.named import Named
from atoll.model.policy import OverridePolicy
from atoll.model.resource_selector import ResourceSelector
from atoll.model.selector_index import SelectorIndex


class OverrideIndex:
    """The override policies of a plane."""

    def __init__(self) -> None:
        self._policies: dict[Ref, OverridePolicy] = {}
        self._selecting: SelectorIndex[Ref] = SelectorIndex()
        self._unselective: Named[Ref, str] = Named()
        """By namespace, those that are for everything in it; under none, for all of the plane."""
        self._looking: dict[Ref, None] = {}
        self._relabelling: dict[Ref, None] = {}
        self._renaming: dict[Ref, None] = {}

    def changed(self, before: OverridePolicy | None, after: OverridePolicy | None) -> None:
        """A policy came, changed or went."""
        if before is not None:
            self._drop(before.ref)
        if after is None:
            return
        ref, rules = after.ref, after.rules
        self._drop(ref)
        self._policies[ref] = after
        self._selecting.put(ref, _within(after))
        self._unselective.put(ref, () if after.selectors else (ref.namespace,))
        is_wide = not ref.namespace
        for filed, is_one in (
            (self._looking, any(each.looks_at_clusters for each in rules)),
            (self._relabelling, is_wide and any(each.relabels for each in rules)),
            (self._renaming, is_wide and any(each.renames for each in rules)),
        ):
            if is_one:
                filed[ref] = None

    def of(self, wire: Object) -> list[OverridePolicy]:
        """The policies that may mean an object: all that do, and few that do not."""
        found = self._selecting.candidates(wire)
        for namespace in dict.fromkeys(("", (wire.get("metadata") or {}).get("namespace") or "")):
            found += self._unselective.naming(namespace)
        return [self._policies[each] for each in found]

    def looking_at_clusters(self) -> list[OverridePolicy]:
        """The policies that are for some clusters by how these are, and not by their names."""
        return [self._policies[each] for each in self._looking]

    def reach(self, policy: OverridePolicy) -> tuple[ResourceSelector, ...] | None:
        """Selectors for all templates that a policy may mean; None: for everything in its reach.

        A namespace's policies select by what the cluster-wide ones make of a template.
        """
        if not policy.selectors or (policy.ref.namespace and self._renaming):
            return None
        selectors = tuple(_within(policy))
        if policy.ref.namespace and self._relabelling:
            return tuple(each if each.name else replace(each, labels=None) for each in selectors)
        return selectors

    def _drop(self, ref: Ref) -> None:
        if self._policies.pop(ref, None) is None:
            return
        self._selecting.drop(ref)
        self._unselective.put(ref, ())
        for each in (self._looking, self._relabelling, self._renaming):
            each.pop(ref, None)


def _within(policy: OverridePolicy) -> Iterator[ResourceSelector]:
    """A policy's selectors; that of a namespace selects nothing outside of it."""
    own = policy.ref.namespace
    for each in policy.selectors:
        if not own:
            yield each
        elif each.namespace in ("", own):
            yield replace(each, namespace=own)
