"""Policies that have no effect: looked for where their selectors say, not among all there is."""

from atoll.client.mirror import Mirror
from atoll.control.hub import Hub, spec_changed
from atoll.control.idle_policies import decide as idle
from atoll.control.levels import Level
from atoll.control.loop import Controller, Loop
from atoll.control.policies.templates import candidates
from atoll.control.wakes import POLICIES
from atoll.dialects.karmada.templates import is_template
from atoll.model.action import Ref
from atoll.model.policy import Policy
from atoll.model.resource_selector import Closeness, ResourceSelector
from atoll.wire import Wire


class IdlePolicies:
    """Tells of policies that have no effect, a moment after each came or changed."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._since: dict[Ref, float] = {}
        controller = Controller(
            "idle_policies", self._observe, lambda seen: idle.plan(seen, hub.now)
        )
        self.loop: Loop[Ref] = Loop(controller, hub.performer, hub.turns)
        for kind in hub.sources.kinds:
            hub.hear_values("idle_policies", kind, self._changed, POLICIES)

    def _changed(self, before: Policy | None, after: Policy | None) -> None:
        if after is None:
            if before is not None:
                self._since.pop(before.ref, None)
        elif spec_changed(before, after):
            self._since[after.ref] = self._hub.now
            self.loop.wake(after.ref, Level.TELL)

    def _observe(self, ref: Ref) -> idle.SeenPolicy | None:
        policy, since = self._hub.policies.get(ref), self._since.get(ref)
        if policy is None or since is None:
            return None
        mirrors = [(each, self._mirror(each)) for each in policy.selectors]
        known = [(each, mirror) for each, mirror in mirrors if mirror is not None]
        if not all(mirror.ready.is_set() for _, mirror in known):
            # Nobody knows yet what there is: the moment begins when that is known.
            since = self._since[ref] = self._hub.now
        meant = (wire for each in known for wire in candidates(*each) if _means(policy, wire))
        return idle.SeenPolicy(
            policy=policy,
            since=since,
            claims=self._hub.claims,
            found=tuple({Ref.of(wire): wire for wire in meant}.values()),
            unknown=[each for each, mirror in mirrors if mirror is None],
            cluster_wide=[each for each, mirror in known if not mirror.collection.namespaced],
        )

    def _mirror(self, selector: ResourceSelector) -> Mirror | None:
        """The mirror of a selector's kind, if it can be propagated from here at all."""
        plane = self._hub.plane
        found = plane.directory.find(selector.api_version, selector.kind)
        return plane.mirror(found) if found in self._hub.template_collections() else None


def _means(policy: Policy, wire: Wire) -> bool:
    return is_template(wire) and policy.closeness(wire) > Closeness.NOT_MEANT
