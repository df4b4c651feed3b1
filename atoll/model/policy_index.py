"""The policies there are, found by what they select, carry, wait for or take their priority from.

In come policies as they change; out come those that may matter to a template, to what they wait for
or to a priority class. Whether one does matter, and which one wins, is for others to say.
"""

from atoll.model.action import Ref
from atoll.model.named import Named
from atoll.model.policy import Policy
from atoll.model.selector_index import SelectorIndex
from atoll.wire import Object


class PolicyIndex:
    """The policies of a plane."""

    def __init__(self) -> None:
        self._policies: dict[Ref, Policy] = {}
        self._selecting: SelectorIndex[Ref] = SelectorIndex()
        self._waiting: Named[Ref, Ref] = Named()
        self._prioritized: Named[Ref, str] = Named()
        self._owning: Named[Ref, Ref] = Named()

    def changed(self, before: Policy | None, after: Policy | None) -> None:
        """A policy came, changed or went."""
        known = after or before
        if known is None:
            return
        ref, own = known.ref, None if after is None else after.own_template
        if after is None:
            self._policies.pop(ref, None)
            self._selecting.put(ref)
        else:
            self._policies[ref] = after
            self._selecting.put(ref, after.selectors)
        self._waiting.put(ref, () if after is None else after.awaits)
        named = after.priority_class if after is not None else ""
        self._prioritized.put(ref, (named,) if named else ())
        self._owning.put(ref, () if own is None else (Ref.of(own),))

    def get(self, ref: Ref) -> Policy | None:
        return self._policies.get(ref)

    def of_template(self, template: Object) -> tuple[Policy, ...]:
        """The policies that may select a template: all that do, and few that do not."""
        return tuple(self._policies[each] for each in self._selecting.candidates(template))

    def waiting_for(self, awaited: Ref) -> list[Policy]:
        """The policies that are not applied until this is there."""
        return [self._policies[each] for each in self._waiting.naming(awaited)]

    def prioritized_by(self, priority_class: str) -> list[Policy]:
        """The policies that take their priority from this class."""
        return [self._policies[each] for each in self._prioritized.naming(priority_class)]

    def owning(self, template: Ref) -> list[Policy]:
        """The policies whose own binding is for this: those that carry it, or are it."""
        return [self._policies[each] for each in self._owning.naming(template)]
