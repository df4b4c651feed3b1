"""The scheduler, and around it a store of bindings, clusters and a clock that a test moves.

The store does what an API server does: it refuses an old resourceVersion, counts the generation and
keeps spec and status apart. Whatever the scheduler wants done waits until the test lets it happen.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from placing_world import NOW, make_binding, make_cluster

from atoll.control.hub import spec_changed
from atoll.control.scheduler.decide import events
from atoll.control.scheduler.decide.events import Event, Instruction
from atoll.control.scheduler.decide.plan import SUCCEEDED
from atoll.control.scheduler.decide.scheduler import Scheduler
from atoll.dialects.karmada import cluster as clusters
from atoll.dialects.karmada.objects.resource_bindings import decode
from atoll.dialects.karmada.standing import MARK, healthy_in
from atoll.model.action import Ref, Tell, Update
from atoll.model.resource_binding import ResourceBinding
from atoll.scheduling.features import PLANE_USUAL
from atoll.scheduling.nodes.view import NodeView
from atoll.scheduling.setting import Setting
from atoll.wire import Object

NO_NODES = NodeView({})
USUAL = Setting(PLANE_USUAL)


def ref(name: str) -> Ref:
    return Ref("work.karmada.io/v1alpha2", "ResourceBinding", "shop", f"{name}-deployment")


class Conflict(Exception):
    """The store has another version by now."""


class Plane:
    """Bindings as they are stored, and the scheduler that is told of them."""

    def __init__(self, setting: Setting = USUAL, *, asks_estimators: bool = False) -> None:
        self.scheduler = Scheduler(setting, asks_estimators=asks_estimators)
        self.now = NOW
        self.stored: dict[Ref, ResourceBinding] = {}
        self.versions = 0
        self.writes: dict[Ref, events.Write] = {}
        """What the scheduler is writing."""
        self.later: list[tuple[float, events.GiveTurn]] = []
        self.asks: list[events.Ask] = []
        self.scheduled: list[events.Scheduled] = []
        self.reported: list[tuple[Ref, str]] = []
        """Of which decisions, by their mark, an event was told with a status that was stored."""

    def tell(self, event: Event) -> list[Instruction]:
        """Tell the scheduler something; what it wants done is kept."""
        due = self.scheduler.wake_at(self.now)
        found = self.scheduler.handle(event, self.now)
        is_sooner = self.scheduler.wake_at(self.now) < due
        assert not is_sooner or events.QueueChanged() in found, f"nobody knows of it: {event}"
        for each in found:
            match each:
                case events.Write(key):
                    assert key not in self.writes, "two writes of one binding at once"
                    self.writes[key] = each
                case events.GiveTurn():
                    self.later.append((self.now + each.after_s, each))
                case events.Ask():
                    self.asks.append(each)
                case events.Scheduled():
                    self.scheduled.append(each)
                case events.Failed(_, error):
                    raise error
        return list(found)

    def cluster(self, name: str, cpu: int = 100, **facts: Any) -> list[Instruction]:
        return self.tell(
            events.ClusterChanged(name, clusters.decode(make_cluster(name, cpu, **facts)))
        )

    def create(self, name: str, replicas: int = 2, **facts: Any) -> list[Instruction]:
        return self.store(make_binding(replicas, name=name, **facts))

    def edit(self, name: str, **spec: Any) -> list[Instruction]:
        wire = self.stored[ref(name)].wire
        return self.store({**wire, "spec": {**wire["spec"], **spec}})

    def healthy(self, name: str, *names: str) -> list[Instruction]:
        """The status controller sums up what clusters say, without a word about scheduling."""
        wire = self.stored[ref(name)].wire
        told = [{"clusterName": each, "health": "Healthy"} for each in names]
        status = {**wire.get("status", {}), "aggregatedStatus": told}
        return self.store({**wire, "status": status}, subresource="status")

    def store(self, wire: Object, subresource: str = "") -> list[Instruction]:
        """Store a version of a binding; it must be made from the last one."""
        key = Ref.of(wire)
        before = self.stored.get(key)
        self.versions += 1
        metadata = {**wire["metadata"], "resourceVersion": str(self.versions)}
        if before is not None:
            known = before.wire["metadata"]
            if wire["metadata"]["resourceVersion"] != known["resourceVersion"]:
                raise Conflict(key.name)
            if subresource:
                metadata = {**known, "resourceVersion": metadata["resourceVersion"]}
                wire = {**before.wire, "status": wire["status"]}
            else:
                wire = {**wire, "status": before.wire.get("status", {})}
                metadata["generation"] = known["generation"] + (wire["spec"] != before.wire["spec"])
        after = self.stored[key] = decode({**wire, "metadata": metadata}, before)
        return self.tell(events.BindingChanged(before, after, spec_changed(before, after)))

    def delete(self, name: str) -> list[Instruction]:
        return self.tell(events.BindingChanged(self.stored.pop(ref(name)), None))

    def turn(self) -> list[Instruction]:
        """A turn for whoever is next in the queue."""
        return self.tell(events.Turn(NO_NODES))

    def turn_later(self, due: tuple[float, events.GiveTurn]) -> list[Instruction]:
        self.later.remove(due)
        return self.tell(events.Turn(NO_NODES, key=due[1].key, why=due[1].why))

    def schedule_on_write(self, name: str, replicas: int = 2, **facts: Any) -> Object | None:
        """What the detector is to write, with targets if the scheduler gives it some."""
        known = self.stored.get(ref(name))
        wire: Object = make_binding(replicas, name=name, **facts)
        if known is not None:
            wire = {**known.wire, "spec": {**known.wire["spec"], "replicas": replicas}}
        found = self.tell(events.ScheduleOnWrite(decode(wire, known), NO_NODES))
        return next((each.binding for each in found if isinstance(each, events.WriteWith)), None)

    def finish(self, key: Ref, *, stores: bool = True, hears: bool = True) -> list[Instruction]:
        """Let a write happen, or not; the scheduler may not hear which of the two."""
        write = self.writes.pop(key)
        (update,) = (each for each in write.actions if isinstance(each, Update))
        try:
            if stores:
                self._let(key, write, update)
        except Conflict:
            stores = False
        is_known = stores and hears
        return self.tell(
            events.Written(key) if is_known else events.NotWritten(key, unsure=not hears)
        )

    def _let(self, key: Ref, write: events.Write, update: Update) -> None:
        if key not in self.stored:
            raise Conflict(key.name)
        told = [each for each in write.actions if isinstance(each, Tell)]
        self.store(update.object, update.subresource)
        if any(each.reason == SUCCEEDED and Ref.of(each.about) == key for each in told):
            marked = self.stored[key].meta.annotations.get(MARK, "")
            self.reported.append((key, marked))

    def settle(self, horizon_s: float = 60.0) -> None:
        """Let everything happen that is to happen within some time, and all writes succeed."""
        end = self.now + horizon_s
        while True:
            for _ in range(1000):
                if not self._step():
                    break
            else:
                raise AssertionError("never settles")
            due = min([self.scheduler.wake_at(self.now), *(at for at, _ in self.later)])
            if due > end:
                self.now = end
                return
            self.pass_time(max(due - self.now, 0.0))

    def _step(self) -> bool:
        if self.writes:
            self.finish(next(iter(self.writes)))
        elif self.asks:
            self.answer(self.asks.pop(0), {})
        elif ripe := [each for each in self.later if each[0] <= self.now]:
            self.turn_later(ripe[0])
        elif self.scheduler.wake_at(self.now) <= self.now:
            self.turn()
        else:
            return False
        return True

    def answer(self, ask: events.Ask, answers: Mapping[str, Any]) -> list[Instruction]:
        return self.tell(events.Answered(ask.key, ask.inquiry, answers))

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.tell(events.TimePassed())

    def targets(self, name: str) -> dict[str, int]:
        return dict(self.stored[ref(name)].spec.clusters)

    def assumed(self) -> dict[str, int]:
        """Pods that were given away and that no cluster reports yet."""
        anybody = decode(make_binding(name="anybody"))
        found = self.scheduler.surroundings(anybody, NO_NODES).assumed
        return {each.cluster: sum(one.replicas for one in each.components) for each in found}

    def says(self, name: str) -> tuple[str, str]:
        """The status and reason of the condition Scheduled."""
        known = self.stored[ref(name)].status.conditions
        found = [each for each in known if each["type"] == "Scheduled"]
        return (found[0]["status"], found[0]["reason"]) if found else ("", "")


def kinds(found: Iterable[Instruction]) -> list[str]:
    return [type(each).__name__ for each in found]


def healthy(binding: ResourceBinding) -> frozenset[str]:
    return healthy_in(binding.wire)
