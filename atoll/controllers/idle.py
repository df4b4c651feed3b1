"""Policies that hold nothing: looked for where their selectors say, not among all there is."""

from collections.abc import Iterator

from atoll.client.api import Collection, Wire
from atoll.controllers.detection import RULES
from atoll.controllers.hub import Hub, meant_otherwise
from atoll.controllers.levels import Level
from atoll.controllers.loop import Controller, Loop
from atoll.model.action import Object, Ref
from atoll.planning import idle
from atoll.planning.detecting.matching import POLICY, Closeness, closeness, is_template


class IdlePolicies:
    """Tells of policies that have no effect, a moment after each came or changed."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._since: dict[Ref, float] = {}
        controller = Controller(
            "idle policies", self._observe, lambda seen: idle.plan(seen, hub.now)
        )
        self.loop: Loop[Ref] = Loop(controller, hub.performer, hub.turns)
        for kind in ("PropagationPolicy", "ClusterPropagationPolicy"):
            hub.hear(kind, self._changed)

    def _changed(self, before: Wire | None, after: Wire | None) -> None:
        if after is None:
            self._since.pop(Ref.of(before or {}), None)
        elif meant_otherwise(before, after):
            self._since[Ref.of(after)] = self._hub.now
            self.loop.wake(Ref.of(after), Level.TELL)

    def _observe(self, ref: Ref) -> idle.SeenPolicy | None:
        policy, since = self._hub.plane.find(ref), self._since.get(ref)
        if policy is None or since is None:
            return None
        selectors = (policy.get("spec") or {}).get("resourceSelectors") or ()
        found = {Ref.of(each): each for one in selectors for each in self._meant(policy, one)}
        unknown = [each for each in selectors if self._kind(each) is None]
        return idle.SeenPolicy(policy, since, tuple(found.values()), unknown)

    def _meant(self, policy: Wire, selector: Object) -> Iterator[Wire]:
        """The templates that a selector of a policy may mean."""
        collection = self._kind(selector)
        if collection is None:
            return
        mirror = self._hub.plane.mirror(collection)
        within = policy["metadata"].get("namespace", "") if policy["kind"] == POLICY else ""
        for each in mirror.within(within) if within else mirror:
            if is_template(each, RULES) and closeness(policy, each) > Closeness.NOT_MEANT:
                yield each

    def _kind(self, selector: Object) -> Collection | None:
        """The collection of a selector's kind, if it can be propagated from here at all."""
        plane = self._hub.plane
        found = plane.directory.find(selector.get("apiVersion", ""), selector.get("kind", ""))
        return found if found in self._hub.template_collections() else None
