"""The scheduler among the others: what wakes it, who asks it, and what it looks at by itself.

Whoever writes a binding anyway asks here for its targets, and everybody who asks about a binding is
given what the scheduler knows of the moment. Prices are looked at before each decision.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from atoll.control.hub import Hub, spec_changed
from atoll.control.prices.wiring import Prices
from atoll.control.scheduler.decide import events
from atoll.control.scheduler.decide.inquiring import Answer
from atoll.control.scheduler.decide.proposing import Wish, propose
from atoll.control.scheduler.decide.told_moves import Told, told
from atoll.control.scheduler.driver import Driver
from atoll.dialects.karmada.cluster import offered
from atoll.dialects.karmada.objects import kinds, resource_bindings
from atoll.effects import stopwatch
from atoll.errors import Invalid
from atoll.instruments.families import Family
from atoll.model.action import Ref
from atoll.model.member import Member
from atoll.model.resource_binding import ResourceBinding
from atoll.runtime.causes import cause
from atoll.scheduling.question import Surroundings
from atoll.wire import Object

if TYPE_CHECKING:
    from atoll.control.scheduler.estimation import Estimation

log = logging.getLogger("atoll.scheduler")

_LOOK_AROUND_EVERY_S = 1.0


class Scheduling:
    """Decides where bindings go."""

    def __init__(self, hub: Hub, estimation: "Estimation | None" = None) -> None:
        self._hub = hub
        self.driver = Driver(hub, estimation)
        self._scheduler = self.driver.scheduler
        self._looked_at = 0.0
        self._nodes_known = 0
        self.prices = Prices(hub, self.driver.wake)
        hub.around = self
        hub.more_numbers.append(self._pending)
        hub.hear_values(Driver.name, kinds.CLUSTER, self._cluster_changed)
        hub.hear_bindings(Driver.name, self._binding_changed)

    async def run(self) -> None:
        """Give turns to who waits in the queue, for ever; several may do so at once."""
        await self.driver.run(self._look_around)

    def schedule_on_write(self, wire: Object) -> Object:
        """A binding that is about to be written, with its targets if it can be decided now."""
        self._look_at_prices()
        binding = resource_bindings.decode(wire, self._hub.binding(Ref.of(wire)))
        write = self.driver.tell(events.ScheduleOnWrite(binding, self.driver.nodes(), stopwatch()))
        return write.binding if isinstance(write, events.WriteWith) else wire

    def of(self, binding: ResourceBinding) -> Surroundings:
        """What is around a binding that is decided now."""
        return self._scheduler.surroundings(binding, self.driver.nodes())

    def anew(self, binding: ResourceBinding) -> Surroundings:
        """What would be around it if it had been given nothing yet."""
        return self._scheduler.surroundings_anew(binding, self.driver.nodes())

    async def moves(self, words: Mapping[str, str]) -> Told:
        """What is worth placing anew, tried out; one decision at a time, and others in between."""
        self._look_at_prices()
        wish, hub = Wish.of(words), self._hub
        offers = {each.name: offered(each.wire) for each in hub.members}
        turns = propose(self._scheduler.rehearsal(self.driver.nodes(), hub.now), wish, offers)
        answers: Mapping[str, Answer] | None = None
        while True:
            try:
                ask = next(turns) if answers is None else turns.send(answers)
            except StopIteration as end:
                return told(end.value, hub.plane.values(kinds.CLUSTER_PRICE))
            await asyncio.sleep(0)
            answers = {} if ask is None else await self.driver.find_out(ask)

    def _look_around(self) -> float | None:
        """See what changes without anybody saying so: prices by the clock, time, nodes."""
        self._look_at_prices()
        if self._hub.now >= self._looked_at + _LOOK_AROUND_EVERY_S:
            self._looked_at = self._hub.now
            known, self._nodes_known = self._nodes_known, self._hub.nodes.changes()
            self.driver.tell(events.TimePassed(nodes_changed=known != self._nodes_known))
        return self.prices.until

    def _look_at_prices(self) -> None:
        if changed := self.prices.settle():
            self.driver.tell(events.PricesChanged({name: self.prices.of(name) for name in changed}))

    def _pending(self) -> list[Family]:
        waiting = self._scheduler.pending(self._hub.now)
        told = "Bindings that wait for a decision, that back off, and that wait for room."
        samples = [("", (("queue", each),), float(count)) for each, count in waiting.items()]
        return [("scheduler_pending_bindings", "gauge", told, samples)]

    def _cluster_changed(self, before: Member | None, after: Member | None) -> None:
        known = after or before
        found = None if after is None else after.cluster()
        if isinstance(found, Invalid):
            said = {"cluster": after and after.name, "err": found}
            log.warning("Cluster %(cluster)s stays as it was: %(err)s", said)
        elif known is not None:
            self.prices.learn(known.name, None if found is None else found.price)
            priced = None if found is None else replace(found, price=self.prices.of(known.name))
            self.driver.tell(events.ClusterChanged(known.name, priced, cause()))

    def _binding_changed(
        self, before: ResourceBinding | None, after: ResourceBinding | None
    ) -> None:
        changed = spec_changed(before, after)
        backlog = self._hub.turns.backlog()
        self.driver.tell(events.BindingChanged(before, after, changed, cause(), backlog))
