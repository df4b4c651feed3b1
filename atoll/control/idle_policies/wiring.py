"""Policies that hold nothing: looked for where their selectors say, not among all there is."""

from collections.abc import Iterator

from atoll.client.api import Wire
from atoll.client.mirror import Mirror
from atoll.control.detector.wiring import RULES
from atoll.control.hub import POLICY_KINDS, Hub, meant_otherwise
from atoll.control.idle_policies import decide as idle
from atoll.control.levels import Level
from atoll.control.loop import Controller, Loop
from atoll.control.policies.templates import candidates
from atoll.dialects.karmada.templates import closeness, is_template, resource_selector
from atoll.model.action import Object, Ref
from atoll.model.resource_selector import Closeness


class IdlePolicies:
    """Tells of policies that have no effect, a moment after each came or changed."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._since: dict[Ref, float] = {}
        controller = Controller(
            "idle_policies", self._observe, lambda seen: idle.plan(seen, hub.now)
        )
        self.loop: Loop[Ref] = Loop(controller, hub.performer, hub.turns)
        for kind in POLICY_KINDS:
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
        mirrors = [(each, self._mirror(each)) for each in selectors]
        known = [(each, mirror) for each, mirror in mirrors if mirror is not None]
        if not all(mirror.ready.is_set() for _, mirror in known):
            # Nobody knows yet what there is: the moment begins when that is known.
            since = self._since[ref] = self._hub.now
        found = {Ref.of(wire): wire for each in known for wire in _meant(policy, *each)}
        return idle.SeenPolicy(
            policy=policy,
            since=since,
            found=tuple(found.values()),
            unknown=[each for each, mirror in mirrors if mirror is None],
            cluster_wide=[each for each, mirror in known if not mirror.collection.namespaced],
        )

    def _mirror(self, selector: Object) -> Mirror | None:
        """The mirror of a selector's kind, if it can be propagated from here at all."""
        plane = self._hub.plane
        found = plane.directory.find(selector.get("apiVersion", ""), selector.get("kind", ""))
        return plane.mirror(found) if found in self._hub.template_collections() else None


def _meant(policy: Wire, wire: Object, mirror: Mirror) -> Iterator[Wire]:
    """The templates of a kind that a policy selects."""
    selector = resource_selector(wire, policy["metadata"].get("namespace") or "")
    for each in () if selector is None else candidates(selector, mirror):
        if is_template(each, RULES) and closeness(policy, each) > Closeness.NOT_MEANT:
            yield each
