"""Pods on nodes: they are given a place, start, run, fail and end, each in its time.

What the scheduler and the kubelets of a cluster do. `places` says where a pod may go and `kubelet`
what becomes of it; here is when, and who waits. Time is the event loop's.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from atoll.apiserver.objects.conditions import is_true
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.verbs.writing import stored_object
from atoll.model.taint import Effect, Taint
from atoll.simulated.allotment import Allotment, address, number_of
from atoll.simulated.hand import Hand, Refusal, stored
from atoll.simulated.kubelet import Here, Next, Pace, bound, lost, unscheduled, upcoming
from atoll.simulated.places import Places
from atoll.simulated.plans.census import Census, Pod
from atoll.simulated.plans.moulds import Mould, Moulds
from atoll.simulated.plans.steps import Change, End, Key, Make, Step, failed_scheduling
from atoll.wire import Wire

PODS, NODES = "pods", "nodes"
WAITING: Key = (PODS, "")
ALL_NODES: Key = (NODES, "")
_POD_NETWORK = (10, 244)
_POD_ADDRESSES = 1 << 18


@dataclass(slots=True)
class _Stage:
    """How far a pod is, and when it goes on."""

    mark: tuple[Any, ...]
    due: float
    timer: asyncio.TimerHandle | None = None


class Hosts:
    """All nodes of one cluster, with the pods on them and those that wait for a place."""

    def __init__(self, api: Api, hand: Hand, pace: Pace, look_at: Callable[[Key], None]) -> None:
        self._api = api
        self._hand = hand
        self._pace = pace
        self._look_at = look_at
        self.census = Census()
        self.places = Places()
        self.moulds = Moulds(hand.resource(PODS).strategy.default)
        self._heard: set[str] = set()
        self._waiting: dict[str, None] = {}
        self._stages: dict[str, _Stage] = {}
        self._addresses = Allotment(_POD_ADDRESSES)
        self._host_ips: dict[str, str] = {}
        self._tainted_at: dict[tuple[str, Taint], float] = {}

    def load(self) -> None:
        """Take in the nodes and pods that are there: what was ready stays ready."""
        self.renew_nodes()
        for record in self._api.store.page(PODS).records:
            self.changed(None, self.census.add(record))

    def changed(self, before: Pod | None, after: Pod | None) -> None:
        """Follow a pod: give back its place, note that it waits, see to what comes next."""
        key = (after or before or _NOBODY).key
        if after is None or after.has_ended or (before is not None and before.uid != after.uid):
            self._leave(key, gone=after is None)
        if after is None:
            return
        self._note_place(after)
        if after.ending or (after.node and not after.has_ended and not after.is_at_rest):
            self._look_at((PODS, key))

    def _note_place(self, pod: Pod) -> None:
        if pod.ip:
            self._addresses.hold(pod.key, number_of(_POD_NETWORK, pod.ip))
        if pod.has_ended or (pod.ending and not pod.node):
            self._waiting.pop(pod.key, None)
        elif pod.node:
            self._waiting.pop(pod.key, None)
            if not self.places.holds(pod.key):  # somebody else has put it there
                wire = self._object(pod.key)
                if wire is not None:
                    self.places.take(pod.key, pod.node, self._mould(wire))
        elif pod.key not in self._waiting:
            self._waiting[pod.key] = None
            self._look_at(WAITING)

    def _leave(self, key: str, *, gone: bool) -> None:
        self._waiting.pop(key, None)
        stage = self._stages.pop(key, None)
        if stage is not None and stage.timer is not None:
            stage.timer.cancel()
        if self.places.give_back(key) and self._waiting:
            self._look_at(WAITING)
        if gone:
            self._addresses.release(key)

    def _object(self, key: str) -> Wire | None:
        return stored(self._api.store, PODS, key)

    def _mould(self, pod: Wire) -> Mould:
        return self.moulds.of(pod, pod["metadata"]["namespace"])

    def _here(self, key: str, node: str) -> Here:
        ip = address(_POD_NETWORK, self._addresses.give(key))
        return Here(self._api.now(), self._host_ips.get(node, ""), ip)

    async def carry_out(self, steps: Iterable[Step]) -> list[Refusal]:
        """Take steps; pods that are made are given a place first, and start at once if they can.

        Gives the pods that may not be made now.
        """
        prepared = [self._prepared(step) for step in steps]
        refused = await self._hand.carry_out(prepared)
        for step in prepared:
            if isinstance(step, Make) and step.mould is not None:
                key = _key(step.object)
                if key not in self.census.pods:  # refused, or its namespace is ending
                    self._leave(key, gone=True)
        return refused

    def _prepared(self, step: Step) -> Step:
        if isinstance(step, End) and step.key[0] == PODS and self._ends_at_once(step.key[1]):
            return End(step.key, step.uid, at_once=True)
        if not isinstance(step, Make) or step.mould is None:
            return step
        return Make(step.collection, self._admitted(step.object, step.mould), step.mould)

    def _ends_at_once(self, key: str) -> bool:
        """Whether a pod needs no time to end: nobody has to be waited for."""
        pod = self.census.pods.get(key)
        is_heard = pod is None or not pod.node or pod.node in self._heard
        return is_heard and not self._pace.end_s

    def _admitted(self, pod: Wire, mould: Mould) -> Wire:
        """A new pod with a place, as far as it gets in no time; or with the reason why not."""
        namespace = pod["metadata"]["namespace"]
        node = self.places.choose(mould, namespace)
        if node is None:
            why = self.places.refusal(mould, namespace)
            return {**pod, "status": unscheduled(pod, why, self._api.timestamp())}
        return self._placed(pod, mould, node)

    def _placed(self, pod: Wire, mould: Mould, node: str) -> Wire:
        """A pod with this place, as far as it gets there in no time."""
        key = _key(pod)
        self.places.take(key, node, mould)
        here = self._here(key, node)
        placed = bound(pod, node, here)
        while (soon := upcoming(placed, mould, self._pace, here)) and not soon.after_s:
            placed = {**placed, "status": soon.status}
        return placed

    async def keep(self, key: str) -> None:
        """Bring one pod to where it should be by now, and come back when it goes on."""
        wire = self._object(key)
        if wire is None:
            return
        node = wire["spec"].get("nodeName", "")
        if node and node not in self._heard:
            return  # what happens there, if anything does, is told when it is heard of again
        coming = upcoming(wire, self._mould(wire), self._pace, self._here(key, node))
        if coming is None:
            self._stages.pop(key, None)
        elif self._is_due(key, self.census.pods[key], coming):
            self._stages.pop(key, None)
            uid = wire["metadata"]["uid"]
            if coming.status is None:
                await self._hand.carry_out([End((PODS, key), uid, at_once=True)])
            else:
                await self._hand.carry_out([Change((PODS, key), uid, {"status": coming.status})])

    def _is_due(self, key: str, pod: Pod, coming: Next) -> bool:
        """Whether it is time; if not, there will be another look when it is."""
        loop = asyncio.get_running_loop()
        mark = (pod.uid, pod.phase, pod.ending, pod.restarts, pod.is_observed)
        stage = self._stages.get(key)
        if stage is None or stage.mark != mark:
            if stage is not None and stage.timer is not None:
                stage.timer.cancel()
            stage = self._stages[key] = _Stage(mark, loop.time() + coming.after_s)
            if coming.after_s:
                stage.timer = loop.call_at(stage.due, self._look_at, (PODS, key))
        return loop.time() >= stage.due

    async def find_places(self) -> None:
        """Give a place to those who wait, in the order in which they came."""
        steps: list[Step] = []
        refused: dict[Mould, str] = {}
        for key in list(self._waiting):
            wire = self._object(key)
            if wire is None or wire["spec"].get("nodeName"):
                self._waiting.pop(key, None)
                continue
            mould, namespace = self._mould(wire), wire["metadata"]["namespace"]
            why = refused.get(mould)
            node = None if why else self.places.choose(mould, namespace)
            if node is None:
                why = refused[mould] = why or self.places.refusal(mould, namespace)
                steps += self._told(wire, why)
                continue
            self._waiting.pop(key)
            placed = self._placed(wire, mould, node)
            parts = {"spec": {"nodeName": node}, "status": placed["status"]}
            steps.append(Change((PODS, key), wire["metadata"]["uid"], parts))
        await self._hand.carry_out(steps)

    def _told(self, pod: Wire, why: str) -> list[Step]:
        """What is written of a pod that no node takes, unless it says so already."""
        now, meta = self._api.timestamp(), pod["metadata"]
        fresh = unscheduled(pod, why, now)
        steps: list[Step] = []
        if fresh != pod["status"]:
            steps.append(Change((PODS, _key(pod)), meta["uid"], {"status": fresh}))
        event = failed_scheduling(pod, why, now)
        if self._api.store.get(event.collection, _key(event.object)) is None:
            steps.append(event)
        return steps

    def renew_nodes(self) -> None:
        """Nodes came, went or changed."""
        resource = self._hand.resource(NODES)
        records = self._api.store.page(NODES).records
        wires = [wire for one in records if (wire := stored_object(resource, one)) is not None]
        self.places.renew(wires)
        heard = {_name(wire) for wire in wires if is_true(wire, "Ready")}
        before, self._heard = self._heard, heard
        for name in self._heard - before:
            for pod in self.census.on(name):
                if pod.ending or not pod.is_at_rest:
                    self._look_at((PODS, pod.key))
        self._host_ips = {_name(wire): _internal_ip(wire) for wire in wires}
        if self._waiting:
            self._look_at(WAITING)

    async def clear_nodes(self) -> None:
        """End the pods whose node is gone, or puts up with them no more."""
        steps: list[Step] = []
        for name in self.census.nodes():
            pods = self.census.on(name)
            if name not in self.places.nodes:
                steps += [End((PODS, pod.key), pod.uid, at_once=True) for pod in pods]
            elif name not in self._heard:
                steps += [step for pod in pods for step in self._lost(pod)]
        await self.carry_out([*steps, *self._driven_out()])

    def _driven_out(self) -> list[Step]:
        """The pods that may not stay beside a taint; those with time left are looked at then."""
        now = asyncio.get_running_loop().time()
        tainted = {
            (name, taint): self._tainted_at.get((name, taint), now)
            for name, node in self.places.nodes.items()
            for taint in node.taints
            if taint.effect is Effect.NO_EXECUTE
        }
        self._tainted_at = tainted
        steps: list[Step] = []
        later: list[float] = []
        for (name, taint), began in tainted.items():
            for pod in self.census.on(name):
                left_s = None if pod.ending else self._left_s(pod, taint, now - began)
                if left_s is not None and left_s <= 0:
                    steps.append(End((PODS, pod.key), pod.uid))
                elif left_s is not None:
                    later.append(left_s)
        if later:
            asyncio.get_running_loop().call_later(min(later), self._look_at, ALL_NODES)
        return steps

    def _lost(self, pod: Pod) -> list[Step]:
        """A pod on a node that is not heard of does not count as ready."""
        wire = self._object(pod.key) if pod.is_ready else None
        if wire is None:
            return []
        return [Change((PODS, pod.key), pod.uid, {"status": lost(wire, self._api.timestamp())})]

    def _left_s(self, pod: Pod, taint: Taint, passed_s: float) -> float | None:
        """How long a pod may stay beside this taint; None for as long as it likes."""
        wire = self._object(pod.key)
        if wire is None or pod.has_ended:
            return None
        known = [each for each in self._mould(wire).claim.tolerations if each.tolerates(taint)]
        if not known:
            return 0.0
        limits = [each.seconds for each in known if each.seconds is not None]
        return min(limits) - passed_s if limits else None


_NOBODY = Pod(key="", uid="", born=0, labels={})


def _key(obj: Wire) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _name(obj: Wire) -> str:
    return str(obj["metadata"]["name"])


def _internal_ip(node: Wire) -> str:
    known = (node.get("status") or {}).get("addresses") or ()
    return next((one["address"] for one in known if one["type"] == "InternalIP"), "")
