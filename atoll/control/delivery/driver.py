"""Drives delivery: what happens is told to it, what it says is carried out.

A turn sees what is mirrored of a member; a mirror begins when delivery asks for it.
"""

from collections.abc import Callable, Iterable

from atoll.client import api
from atoll.client.mirror import Mirror
from atoll.control import patience
from atoll.control.delivery.crews import Crews
from atoll.control.delivery.decide import events
from atoll.control.delivery.decide import plan as working
from atoll.control.delivery.decide.deliveries import Deliveries
from atoll.control.delivery.decide.ending import is_awaited
from atoll.control.delivery.decide.events import Key
from atoll.control.delivery.decide.reflecting import Questions
from atoll.control.hub import Hub
from atoll.control.levels import Level
from atoll.control.loop import Controller, Loop
from atoll.control.site import Site
from atoll.dialects.karmada import names
from atoll.model.action import PLANE, Action, Plan, Ref, Tell
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.wire import Object, Wire

Handle = Callable[[events.Event, float], tuple[events.Instruction, ...]]


class Driver:
    """Carries out what delivery wants done."""

    name = "delivery"

    def __init__(self, hub: Hub, agent_of: str) -> None:
        self._hub = hub
        self._deliveries = Deliveries(agent_of)
        self.handle: Handle = self._deliveries.handle
        self._crews = Crews(self._loop)
        self.run = self._crews.run

    def _loop(self) -> Loop[Key]:
        """A loop that works for one member."""
        hub = self._hub
        controller = Controller(
            *(self.name, self._look, self._plan, self._refused, self._done, self._answers),
            took=hub.numbers.workload_took,
            follow=None if hub.traces is None else hub.traces.delivering,
        )
        return Loop(
            *(controller, hub.performer, hub.turns),
            again=Level.REPORT,
            few=patience.FEW,
            lane=self._lane,
        )

    def tell(self, event: events.Event) -> None:
        """Hand on an event, and do what that calls for."""
        self._carry_out(self.handle(event, self._hub.now))

    def _carry_out(self, instructions: Iterable[events.Instruction]) -> None:
        for each in instructions:
            match each:
                case events.Wake(key, level):
                    self.wake(key, level)
                case events.WakeToEnd(key):
                    self.wake(key, Level.REPORT if self.is_awaited(key) else Level.SUM)
                case events.Follow():
                    self._follow(each)
                case events.Retire(cluster):
                    self._crews.retire(cluster)
                case Tell():
                    self._hub.performer.tell_later(each)

    def wake(self, key: Key, level: Level) -> None:
        """Give a Work a turn."""
        self._crews.of(names.cluster_of(key[0]) or "").wake(key, level)

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
            self.tell(events.MirrorReady(asked.cluster, asked.api_version, asked.kind))

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
            self.tell(events.Stored(action, stored))

    def _refused(self, action: Action, refusal: api.Refused) -> bool:
        """Say what a member refused, and whether that is worth another turn at once."""
        if isinstance(action, Tell) or action.at == PLANE:
            return False
        refused = events.Refused(action, str(refusal))
        instructions = self.handle(refused, self._hub.now)
        self._carry_out(instructions)
        return any(isinstance(each, events.Wake) for each in instructions)

    def is_awaited(self, key: Key) -> bool:
        """Whether something waits for a Work to end."""
        work = self._deliveries.work(key)
        return work is not None and any(is_awaited(work, each) for each in self._bindings(work))
