"""Delivery among the others: what it is told of.

`control/wakes.py` says in which order.
"""

from atoll.control.delivery.decide import events
from atoll.control.delivery.decide.ending import is_awaited
from atoll.control.delivery.driver import Driver
from atoll.control.hub import Hub, spec_changed
from atoll.control.levels import Level
from atoll.dialects.karmada.objects import kinds
from atoll.model.member import Member
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work


class Delivery:
    """Makes members have what Works say, and Works say what members have."""

    def __init__(self, hub: Hub, agent_of: str = "") -> None:
        """`agent_of` names the cluster that this looks after from inside, if it does."""
        self._hub = hub
        self.driver = Driver(hub, agent_of)
        name, tell = Driver.name, self.driver.tell
        hub.hear_values(name, kinds.WORK, self._work_changed)
        hub.hear_values(name, kinds.CLUSTER, self._cluster_changed)
        hub.hear_bindings(name, self._binding_changed)
        hub.hear_members(name, lambda *told: tell(events.MemberObjectChanged(*told)))
        hub.hear_connected(name, lambda member: tell(events.MemberTurned(member)))
        hub.hear_answering(name, lambda member: tell(events.MemberAnswers(member)))

    def _work_changed(self, before: Work | None, after: Work | None) -> None:
        self.driver.tell(events.WorkChanged(before, after, spec_changed(before, after)))

    def _cluster_changed(self, before: Member | None, after: Member | None) -> None:
        known = after or before
        if known is not None:
            self.driver.tell(events.ClusterChanged(known.name, after))

    def _binding_changed(
        self, before: ResourceBinding | None, after: ResourceBinding | None
    ) -> None:
        """What nobody waited for may be waited for now."""
        if after is None or not spec_changed(before, after):
            return
        for work in self._hub.works_of(after.ref):
            if work.meta.is_going and is_awaited(work, after):
                self.driver.wake(work.key, Level.REPORT)
