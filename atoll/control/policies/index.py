"""The policies there are, found by what they select, wait for or take their priority from.

In come policies as they change; out come those that may matter to a template, to an override policy
or to a priority class. Whether one does matter, and which one wins, is for others to say.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from atoll.dialects.karmada.templates import CLUSTER_POLICY, selectors_of
from atoll.model.action import Object, Ref
from atoll.model.selector_index import SelectorIndex

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)

OVERRIDE, CLUSTER_OVERRIDE = "OverridePolicy", "ClusterOverridePolicy"


class Named(Generic[K, V]):
    """Keys by the values that each of them names."""

    def __init__(self) -> None:
        self._by_value: dict[V, dict[K, None]] = {}
        self._values: dict[K, tuple[V, ...]] = {}

    def put(self, key: K, values: tuple[V, ...]) -> None:
        """Know what a key names, instead of what it named before; nothing forgets it."""
        for value in self._values.pop(key, ()):
            filed = self._by_value[value]
            filed.pop(key, None)
            if not filed:
                del self._by_value[value]
        for value in values:
            self._by_value.setdefault(value, {})[key] = None
        if values:
            self._values[key] = values

    def naming(self, value: V) -> list[K]:
        """The keys that name a value."""
        return list(self._by_value.get(value, ()))


class PolicyIndex:
    """The policies of a plane."""

    def __init__(self) -> None:
        self._policies: dict[Ref, Object] = {}
        self._selecting: SelectorIndex[Ref] = SelectorIndex()
        self._waiting: Named[Ref, tuple[str, str]] = Named()
        self._prioritized: Named[Ref, str] = Named()

    def changed(self, before: Object | None, after: Object | None) -> None:
        """A policy came, changed or went."""
        ref = Ref.of(after or before or {})
        if after is None:
            self._policies.pop(ref, None)
            self._selecting.drop(ref)
        else:
            self._policies[ref] = after
            self._selecting.put(ref, selectors_of(after))
        self._waiting.put(ref, waits_for(after))
        self._prioritized.put(ref, priority_classes(after))

    def of_template(self, template: Object) -> tuple[Object, ...]:
        """The policies that may select a template: all that do, and few that do not."""
        return tuple(self._policies[each] for each in self._selecting.candidates(template))

    def waiting_for(self, override: Ref) -> list[Object]:
        """The policies that are not applied until this override policy exists."""
        found = self._waiting.naming((override.namespace, override.name))
        return [self._policies[each] for each in found]

    def prioritized_by(self, priority_class: str) -> list[Object]:
        """The policies that take their priority from this class."""
        return [self._policies[each] for each in self._prioritized.naming(priority_class)]


def waits_for(policy: Object | None) -> tuple[tuple[str, str], ...]:
    """Namespace and name of each override policy without which a policy is not applied."""
    if policy is None:
        return ()
    is_wide = policy.get("kind") == CLUSTER_POLICY
    namespace = "" if is_wide else (policy["metadata"].get("namespace") or "")
    named = (policy.get("spec") or {}).get("dependentOverrides") or ()
    return tuple(dict.fromkeys((namespace, each) for each in named))


def priority_classes(policy: Object | None) -> tuple[str, ...]:
    """The priority class that a policy names, if it does."""
    asked = ((policy or {}).get("spec") or {}).get("schedulePriority") or {}
    name = asked.get("priorityClassName")
    return (name,) if name else ()
