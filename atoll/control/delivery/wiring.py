"""Drives delivery: what happens is told to it, what it says is carried out.

Every member has a loop and workers of its own, so that one that hangs holds up nobody else. A turn
sees what is mirrored of a member; a mirror begins when delivery asks for it.
"""

import asyncio
from collections.abc import Callable, Iterable

from atoll.client import api
from atoll.client.mirror import Mirror
from atoll.control import patience
from atoll.control.delivery.decide import events
from atoll.control.delivery.decide import plan as working
from atoll.control.delivery.decide.deliveries import Deliveries
from atoll.control.delivery.decide.ending import is_awaited
from atoll.control.delivery.decide.events import Key
from atoll.control.delivery.decide.reflecting import Questions
from atoll.control.hub import Hub, spec_changed
from atoll.control.levels import Level
from atoll.control.loop import Controller, Loop
from atoll.control.site import Site
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import kinds
from atoll.model.action import PLANE, Action, Plan, Ref, Tell
from atoll.model.member import Member
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.runtime.children import Children
from atoll.wire import Object, Wire

Handle = Callable[[events.Event, float], tuple[events.Instruction, ...]]
WORKERS = 4  # for each member


class Delivery:
    """Makes members have what Works say, and Works say what members have."""

    def __init__(self, hub: Hub, agent_of: str = "") -> None:
        """`agent_of` names the cluster that this looks after from inside, if it does."""
        self._hub = hub
        self._deliveries = Deliveries(agent_of)
        self.handle: Handle = self._deliveries.handle
        self._loops: dict[str, Loop[Key]] = {}
        self._more = asyncio.Event()
        self._controller = Controller(
            "delivery",
            self._look,
            self._plan,
            self._refused,
            self._done,
            self._answers,
            hub.numbers.workload_took,
            None if hub.traces is None else hub.traces.delivering,
        )
        hub.hear_values("delivery", kinds.WORK, self._work_changed)
        hub.hear_values("delivery", kinds.CLUSTER, self._cluster_changed)
        hub.hear_bindings("delivery", self._binding_changed)
        hub.hear_members("delivery", lambda *told: self._tell(events.MemberObjectChanged(*told)))
        hub.hear_connected("delivery", lambda name: self._tell(events.MemberTurned(name)))
        hub.hear_answering("delivery", lambda name: self._tell(events.MemberAnswers(name)))

    async def run(self) -> None:
        """Work for every member there is and will be, each by workers of its own, for ever."""
        crews: dict[Loop[Key], list[asyncio.Task[None]]] = {}
        async with Children("delivery") as children:
            while True:
                self._more.clear()
                wanted = {loop: cluster for cluster, loop in self._loops.items()}
                for loop in [each for each in crews if each not in wanted]:
                    for task in crews.pop(loop):
                        task.cancel()
                for loop, cluster in wanted.items():
                    if loop not in crews:
                        crews[loop] = [
                            children.spawn(loop.run(), f"{cluster} {worker}")
                            for worker in range(WORKERS)
                        ]
                await self._more.wait()

    def _tell(self, event: events.Event) -> None:
        self._carry_out(self.handle(event, self._hub.now))

    def _carry_out(self, instructions: Iterable[events.Instruction]) -> None:
        for each in instructions:
            match each:
                case events.Wake(key, level):
                    self._wake(key, level)
                case events.WakeToEnd(key):
                    self._wake(key, Level.REPORT if self._is_awaited(key) else Level.SUM)
                case events.Follow():
                    self._follow(each)
                case events.Retire(cluster):
                    if cluster in self._loops:
                        self._loops.pop(cluster).close()
                        self._more.set()
                case Tell():
                    self._hub.performer.tell_later(each)

    def _wake(self, key: Key, level: Level) -> None:
        cluster, hub = names.cluster_of(key[0]) or "", self._hub
        if cluster not in self._loops:
            self._loops[cluster] = Loop(
                *(self._controller, hub.performer, hub.turns),
                again=Level.REPORT,
                few=patience.FEW,
                lane=self._lane,
            )
            self._more.set()
        self._loops[cluster].wake(key, level)

    def _lane(self, key: Key) -> str:
        """Whose a Work is: of the namespace of its binding, or of what it brings."""
        work = self._deliveries.work(key)
        if work is None:
            return ""
        about = work.bindings[0] if work.bindings else None
        if about is None and (objects := working.objects(work)):
            about = Ref.of(objects[0])
        return "" if about is None else about.namespace or about.name

    def _follow(self, asked: events.Follow) -> None:
        site = self._hub.sites.get(asked.cluster)
        collection = site and site.directory.find(asked.api_version, asked.kind)
        if site and collection:
            following = self._say_when_ready(site.mirror(collection), asked)
            site.children.spawn(following, "a mirror to be ready")

    async def _say_when_ready(self, mirror: Mirror, asked: events.Follow) -> None:
        try:
            await mirror.ready.wait()
        finally:
            self._tell(events.MirrorReady(asked.cluster, asked.api_version, asked.kind))

    def _look(self, key: Key) -> events.Looked:
        site = self._hub.sites.get(names.cluster_of(key[0]) or PLANE)
        member = None if site is None else self._seen(site, self._deliveries.asked(key))
        known = self._hub.interpreters
        means = events.Means(known.retain, Questions(known.reflect, known.health), self._owners)
        return events.Looked(key, member, means, self._hub.turns.backlog())

    def _seen(self, site: Site, refs: Iterable[Ref]) -> events.MemberView:
        found: dict[Ref, Wire] = {}
        unserved, unknown = set(), set()
        for ref in refs:
            mirror = site.mirrored(ref.api_version, ref.kind)
            if site.directory.find(ref.api_version, ref.kind) is None:
                unserved.add(ref)
            elif mirror is None or not mirror.ready.is_set():
                unknown.add(ref)
            elif wire := mirror.get(ref.namespace, ref.name):
                found[ref] = wire
        is_silent = self._hub.is_silent(site.name)
        return events.MemberView(is_silent, found, frozenset(unserved), frozenset(unknown))

    def _plan(self, looked: events.Looked) -> Plan:
        instructions = self.handle(looked, self._hub.now)
        self._carry_out(each for each in instructions if not isinstance(each, Action))
        actions = tuple(each for each in instructions if isinstance(each, Action))
        again = (each.after_s for each in instructions if isinstance(each, events.LookAgain))
        return Plan(actions, next(again, None))

    def _owners(self, work: Work) -> list[Object]:
        """The bindings that a Work is of, and their templates."""
        bindings = self._bindings(work)
        templates = [self._hub.plane.find(each.spec.template) for each in bindings]
        return [*(each.wire for each in bindings), *(each for each in templates if each)]

    def _bindings(self, work: Work) -> list[ResourceBinding]:
        found = map(self._hub.binding, work.bindings)
        return [each for each in found if each is not None]

    def _answers(self, action: Action) -> bool:
        """Whether there is hope to learn what became of an action."""
        name = PLANE if isinstance(action, Tell) else action.at
        is_well = self._deliveries.is_ready(name) and not self._hub.is_silent(name)
        return name == PLANE or is_well

    def _done(self, action: Action, stored: Wire | None) -> None:
        if not isinstance(action, Tell) and action.at != PLANE:
            self._tell(events.Stored(action, stored))

    def _refused(self, action: Action, refusal: api.Refused) -> bool:
        """Say what a member refused, and whether that is worth another turn at once."""
        if isinstance(action, Tell) or action.at == PLANE:
            return False
        refused = events.Refused(action, str(refusal))
        instructions = self.handle(refused, self._hub.now)
        self._carry_out(instructions)
        return any(isinstance(each, events.Wake) for each in instructions)

    def _work_changed(self, before: Work | None, after: Work | None) -> None:
        self._tell(events.WorkChanged(before, after, spec_changed(before, after)))

    def _cluster_changed(self, before: Member | None, after: Member | None) -> None:
        known = after or before
        if known is not None:
            self._tell(events.ClusterChanged(known.name, after))

    def _binding_changed(
        self, before: ResourceBinding | None, after: ResourceBinding | None
    ) -> None:
        """What nobody waited for may be waited for now."""
        if after is None or not spec_changed(before, after):
            return
        for work in self._hub.works_of(after.ref):
            if work.meta.is_going and is_awaited(work, after):
                self._wake(work.key, Level.REPORT)

    def _is_awaited(self, key: Key) -> bool:
        """Whether something waits for a Work to end."""
        work = self._deliveries.work(key)
        return work is not None and any(is_awaited(work, each) for each in self._bindings(work))
