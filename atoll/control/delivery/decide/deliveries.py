"""Delivery as a value: events come in, what is to be done about them goes out.

Holds what cannot be read from anywhere: what came of writes, what remains of Works that ended here,
statuses on their way, what is not told yet, and who waits for what. What is held of a Work goes
with it. Knows no loop, no client and no clock; a member's objects are shown to it at each turn.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from atoll.control.delivery.decide import plan as working
from atoll.control.delivery.decide.applying import Attempt, version_of
from atoll.control.delivery.decide.events import (
    ClusterChanged,
    Event,
    Follow,
    Instruction,
    Key,
    LookAgain,
    Looked,
    MemberAnswers,
    MemberObjectChanged,
    MemberTurned,
    MemberView,
    MirrorReady,
    Refused,
    Retire,
    Stored,
    Wake,
    WakeToEnd,
    WorkChanged,
    Write,
)
from atoll.control.levels import Level
from atoll.control.patience import Waited
from atoll.dialects.karmada import names
from atoll.model.action import Delete, Plan, Ref, Tell, Update
from atoll.model.member import Member
from atoll.model.named import Named
from atoll.model.work import Work
from atoll.wire import Object

_REMEMBERED_S = 1800.0  # longer than any system goes on sending what is not acknowledged
_REMEMBERED_MAX = 4096


@dataclass(frozen=True, slots=True)
class _Standing:
    """What counts of a cluster here; `is_served`: nobody inside looks after its Works."""

    ready: bool
    leaving: bool
    is_served: bool


@dataclass(slots=True)
class _Held:
    """A Work, and what is remembered of it for as long as it is there."""

    work: Work
    planned: Work | None = None
    """The Work as it was when its writes were planned: it may say something else by now."""
    said: Object | None = None
    """The status that is being written: to hear it back is no news."""
    attempts: dict[Ref, Attempt] = field(default_factory=dict)


class Deliveries:
    """Makes members have what Works say, and Works say what members have."""

    def __init__(self, agent_of: str = "") -> None:
        """`agent_of` names the cluster that this looks after from inside, if it does."""
        self._agent_of = agent_of
        self._works: dict[Key, _Held] = {}
        self._within: dict[str, dict[Key, None]] = {}
        """Works by cluster."""
        self._asked: Named[Key, tuple[str, Ref]] = Named()
        """Works by the objects they ask for, in which cluster."""
        self._clusters: dict[str, _Standing] = {}
        self._silent: dict[str, dict[Key, None]] = {}
        """Works that wait until their cluster answers again."""
        self._late: dict[str, dict[tuple[str, str], dict[Key, None]]] = {}
        """Works that wait until it is known what their cluster has of a kind."""
        self._untold: dict[Key, float] = {}
        """Since when there is something to tell of Works that is not told yet."""
        self._over: dict[Key, tuple[Work, float]] = {}
        """What remains of Works that were let end here, oldest first, and when that was."""

    def handle(self, event: Event, now: float) -> tuple[Instruction, ...]:
        """What is to be done about an event; writes in the order they are to be carried out.

        Of a turn, any beginning of its writes may be carried out, and then the next turn given.
        """
        return tuple(self._handled(event, now))

    def _handled(self, event: Event, now: float) -> Iterator[Instruction]:
        match event:
            case WorkChanged():
                yield from self._work_changed(event)
            case ClusterChanged():
                yield from self._cluster_changed(event)
            case MemberTurned(cluster):
                self._late.pop(cluster, None)
                yield from self._wake_all(cluster)
            case MemberAnswers(cluster):
                yield from map(Wake, self._silent.pop(cluster, ()))
            case MemberObjectChanged():
                yield from self._member_changed(event)
            case MirrorReady(cluster, api_version, kind):
                yield from map(Wake, self._late.get(cluster, {}).pop((api_version, kind), ()))
            case Looked():
                yield from self._looked(event, now)
            case Stored(write, stored):
                self._stored(write, stored)
            case Refused(write, message):
                yield from self._refused(write, message)

    def asked(self, key: Key) -> Sequence[Ref]:
        """The objects that are to be looked at when it is a Work's turn."""
        work = self.work(key) or self._over.get(key, (None, 0.0))[0]
        return [] if work is None else [Ref.of(each) for each in working.objects(work)]

    def work(self, key: Key) -> Work | None:
        """A Work, if it is there."""
        held = self._works.get(key)
        return None if held is None else held.work

    def is_ready(self, cluster: str) -> bool:
        """Whether a cluster is said to be ready."""
        standing = self._clusters.get(cluster)
        return standing is not None and standing.ready

    def _work_changed(self, event: WorkChanged) -> Iterator[Instruction]:
        work = event.after or event.before
        if work is None or not work.cluster:
            return
        key, cluster = work.key, work.cluster
        if event.after is None:
            self._forget(key, cluster)
            yield from self._retired(cluster)
            return
        former, held = self.work(key), self._works.get(key)
        if held is None:
            held = self._works[key] = _Held(event.after)
            self._within.setdefault(cluster, {})[key] = None
        if event.before is None:
            # New, or told again since its kind means something else: what was sent before
            # does not say any more what should be there.
            held.attempts.clear()
            self._over.pop(key, None)
        if former is None or former.spec is not event.after.spec:
            wanted = map(Ref.of, working.objects(event.after))
            self._asked.put(key, ((cluster, ref) for ref in wanted))
        held.work = event.after
        if event.is_meant:
            yield Wake(key)
            return
        said, held.said = held.said, None
        if said != event.after.wire.get("status"):
            yield Wake(key, Level.REPORT)

    def _forget(self, key: Key, cluster: str) -> None:
        if self._works.pop(key, None) is None:
            return
        self._asked.put(key)
        self._untold.pop(key, None)
        for each in (self._within, self._silent):
            each.get(cluster, {}).pop(key, None)
            if not each.get(cluster, True):
                del each[cluster]
        for late in self._late.get(cluster, {}).values():
            late.pop(key, None)

    def _cluster_changed(self, event: ClusterChanged) -> Iterator[Instruction]:
        name, before = event.name, self._clusters.get(event.name)
        if event.after is None:
            self._clusters.pop(name, None)
            for key in self._ended(name):
                del self._over[key]
            yield from self._wake_all(name)
            yield from self._retired(name)
            return
        after = self._clusters[name] = self._standing(name, event.after)
        if before != after:
            yield from self._wake_all(name)

    def _standing(self, name: str, cluster: Member) -> _Standing:
        ready, leaving = cluster.is_ready, cluster.meta.is_going
        # An agent in the cluster looks after its Works; one that leaves silently does not.
        is_pulled = name != self._agent_of and cluster.spec.is_pulled
        return _Standing(ready, leaving, is_served=not is_pulled or (leaving and not ready))

    def _retired(self, cluster: str) -> Iterator[Instruction]:
        if cluster not in self._clusters and cluster not in self._within:
            self._silent.pop(cluster, None)
            self._late.pop(cluster, None)
            yield Retire(cluster)

    def _wake_all(self, cluster: str) -> Iterator[Instruction]:
        """Look at all Works of a cluster again, also at those that are over."""
        yield from map(Wake, self._within.get(cluster, ()))
        for key in self._ended(cluster):
            yield Wake(key, Level.REPORT)

    def _ended(self, cluster: str) -> list[Key]:
        """The Works of a cluster that were let end here."""
        space = names.execution_namespace(cluster)
        return [key for key in self._over if key[0] == space]

    def _member_changed(self, event: MemberObjectChanged) -> Iterator[Instruction]:
        before, after = event.before or {}, event.after or {}
        space = names.execution_namespace(event.cluster)
        makers = dict.fromkeys(each for each in map(_work_of, (before, after)) if each[0] == space)
        standing = self._clusters.get(event.cluster)
        is_awaited = bool(self._agent_of) or (standing is not None and standing.leaving)
        for key in makers:
            held = self._works.get(key)
            if held is not None and held.work.meta.is_going and not is_awaited:
                yield WakeToEnd(key)
            elif held is not None or key in self._over:
                yield Wake(key, Level.REPORT)
        if _claims(before) != _claims(after):
            # Something that is not theirs came, changed or went: it may be in the way no more.
            ref = Ref.of(event.after or before)
            for key in self._asked.naming((event.cluster, ref)):
                if key not in makers:
                    yield Wake(key)

    def _looked(self, event: Looked, now: float) -> Iterator[Instruction]:
        key, member = event.key, event.member
        held, cluster = self._works.get(key), names.cluster_of(key[0]) or ""
        work = held.work if held is not None else self._remembered(key, now)
        standing = self._clusters.get(cluster)
        if work is None or (standing is not None and not standing.is_served):
            return
        if held is not None:
            held.planned = work
        ready = None if standing is None else standing.ready and member is not None
        attempts: Mapping[Ref, Attempt] = {} if held is None else held.attempts
        if member is not None:
            if ready and member.is_silent:
                self._silent.setdefault(cluster, {})[key] = None
                return
            if held is not None:
                self._note_unserved(held, cluster, member)
            if member.unknown:
                yield from self._wanted(key, cluster, member)
                return
        since = self._untold.get(key, now)
        seen = working.SeenWork(
            work=work,
            ready=ready,
            retain=event.means.retain,
            questions=event.means.questions,
            observed={} if member is None else member.found,
            attempts=attempts,
            leaving=standing is not None and standing.leaving,
            waited=Waited(max(0.0, now - since), event.backlog),
            is_over=held is None,
            owners=partial(event.means.owners, work),
        )
        yield from self._planned(key, seen, working.plan(seen, now), now)

    def _planned(
        self, key: Key, seen: working.SeenWork, plan: Plan, now: float
    ) -> Iterator[Instruction]:
        """The plan as instructions, once it is noted what will be known of it when it is done."""
        held = self._works.get(key)
        if plan.again_in is None:
            self._untold.pop(key, None)
        elif held is not None:
            self._untold.setdefault(key, now)
        for action in plan.actions:
            if held is not None and isinstance(action, Update) and action.subresource:
                held.said = action.object["status"]
        if seen.ready and any(map(working.is_last, plan.actions)):
            self._remember(key, seen.work, now)
        yield from plan.actions
        if plan.again_in is not None:
            yield LookAgain(key, plan.again_in)

    def _note_unserved(self, held: _Held, cluster: str, member: MemberView) -> None:
        for manifest in working.objects(held.work):
            ref = Ref.of(manifest)
            if ref in member.unserved:
                problem = f"cluster {cluster} does not serve {ref.kind} of {ref.api_version}"
                held.attempts[ref] = Attempt(manifest, refusal=problem)

    def _wanted(self, key: Key, cluster: str, member: MemberView) -> Iterator[Instruction]:
        """Have what a Work asks for followed; one asks for all, as that may take long."""
        late = self._late.setdefault(cluster, {})
        for kind in dict.fromkeys((ref.api_version, ref.kind) for ref in sorted(member.unknown)):
            if kind not in late:
                yield Follow(cluster, *kind)
            late.setdefault(kind, {})[key] = None

    def _remember(self, key: Key, work: Work, now: float) -> None:
        self._over.pop(key, None)
        self._over[key] = working.remains(work), now
        while len(self._over) > _REMEMBERED_MAX or _is_old(*next(iter(self._over.values())), now):
            del self._over[next(iter(self._over))]

    def _remembered(self, key: Key, now: float) -> Work | None:
        """What remains of a Work that was let end here not long ago."""
        known = self._over.get(key)
        if known is not None and _is_old(*known, now):
            del self._over[key]
            return None
        return None if known is None else known[0]

    def _stored(self, write: Write, stored: Object | None) -> None:
        """Remember which version a member gave what was sent: what it adds itself is no drift."""
        held = self._held_for(write)
        if held is not None and not isinstance(write, Delete) and stored is not None:
            ref = Ref.of(write.object)
            held.attempts[ref] = Attempt(_sent(held, ref), version=version_of(stored))

    def _refused(self, write: Write, message: str) -> Iterator[Instruction]:
        """Note what a member refused; the same again is no news."""
        held = self._held_for(write)
        if held is None or held.planned is None:
            return
        if isinstance(write, Delete):
            # What a member does not let go of is told on the Work, which waits for it.
            told = f"cluster {write.at} refused to delete {write.ref}: {message}"
            yield Tell(held.planned.wire, working.NOT_APPLIED, told, warning=True)
            return
        ref = Ref.of(write.object)
        known = held.attempts.get(ref)
        held.attempts[ref] = Attempt(_sent(held, ref), refusal=message)
        if known is None or known.refusal != message:
            yield Wake(held.work.key)

    def _held_for(self, write: Write) -> _Held | None:
        """What is held of the Work that something was written to a member for."""
        ref = write.ref if isinstance(write, Delete) else Ref.of(write.object)
        maker = ("", "") if isinstance(write, Delete) else _work_of(write.object)
        asking = {key: self._works[key] for key in self._asked.naming((write.at, ref))}
        going = (each for each in asking.values() if each.planned and each.planned.meta.is_going)
        return asking.get(maker) or next(going, None)


def _sent(held: _Held, ref: Ref) -> Object:
    """The manifest that a write to a member was made for."""
    planned = () if held.planned is None else working.objects(held.planned)
    return next((each for each in planned if Ref.of(each) == ref), {})


def _is_old(_work: Work, at: float, now: float) -> bool:
    return now - at > _REMEMBERED_S


def _work_of(wire: Object) -> Key:
    """The Work that an object in a member says it was made from."""
    annotations = (wire.get("metadata") or {}).get("annotations") or {}
    return annotations.get(names.WORK_NAMESPACE, ""), annotations.get(names.WORK_NAME, "")


def _claims(wire: Object) -> tuple[object, ...]:
    """What decides whether an object is in the way of a Work that asks for one of its name."""
    metadata = wire.get("metadata") or {}
    known = ("uid", "labels", "annotations", "deletionTimestamp")
    return tuple(metadata.get(each) for each in known)
