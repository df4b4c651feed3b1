"""Keeps the status of a member's workloads as its controllers would, from its own store.

Follows every commit; plans the touched workload (`workloads.status`) and writes what changed, one
write for each. Pods are counted and not made: `room` says how many fit, `progress` when they are
ready. Time is the event loop's, so that a simulated loop decides when a pod has started.
"""

import asyncio
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from atoll.apiserver.assembly import Service
from atoll.apiserver.housekeeping.acting import call_on
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.view import metadata_of
from atoll.apiserver.options import WriteOptions
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import ApiError, not_found
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.verbs.forming import Form, formed_update
from atoll.apiserver.verbs.writing import Leave, Save, Verdict, stored_object, write
from atoll.controllers.levels import Level
from atoll.dialects.kubernetes.pods import demand
from atoll.model.amount import PODS
from atoll.model.demand import Demand
from atoll.runtime.worklist import Turns, Worklist
from atoll.simulated.nodes import Nodes
from atoll.simulated.pods import Pods
from atoll.simulated.progress import Batch, Progress, advanced
from atoll.simulated.room import Room
from atoll.simulated.workloads import completions, is_finished, revision, status
from atoll.store.record import Event

Object = dict[str, Any]
Key = tuple[str, str]  # a collection, and a name in it

WITH_PODS = (
    "deployments.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "replicasets.apps",
    "jobs.batch",
    "pods",
)
KEPT = (*WITH_PODS, "persistentvolumeclaims", "services")
NODES = "nodes"
ALL_NODES: Key = (NODES, "")
MANAGER = "kube-controller-manager"
LANES = 8


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a pod takes to be ready, and a job's pod to do its work, in seconds."""

    start_s: float = 0.0
    job_s: float = 0.0


@dataclass(slots=True)
class _Kept:
    """What is known of one workload with pods."""

    template: str
    demand: Demand
    progress: Progress
    ended: int = 0  # pods of a job that have done their work
    timer: asyncio.TimerHandle | None = None


class Keeper:
    """Follows one member's store. Workloads of one name are planned in order, others side by side.

    Several lanes, because a write waits for the disk, and those that wait are committed together.
    """

    def __init__(self, api: Api, pace: Pace) -> None:
        self._api = api
        self._pace = pace
        self._kept: dict[Key, _Kept] = {}
        self.room: Room[Key] = Room()
        self.nodes = Nodes()
        self._writing: set[Key] = set()
        self._lanes = [Worklist[Key](f"workloads {number}") for number in range(LANES)]

    def give_way(self, turns: Turns) -> None:
        """Let the arrival of objects go first in a plane that shares the process.

        It stands for the controllers of another machine, which would not hold up the plane either.
        """
        for lane in self._lanes:
            lane.share(turns)

    @property
    def services(self) -> dict[str, Service]:
        return {
            f"workloads {number}": partial(lane.run, self._keep)
            for number, lane in enumerate(self._lanes)
        }

    def load(self) -> None:
        """Take in what is there: what was ready stays ready."""
        self._count_nodes()
        for collection in KEPT:
            resource = self._resource(collection)
            for record in self._api.store.page(collection).records:
                key = (collection, record.name)
                workload = stored_object(resource, record)
                if collection in WITH_PODS and workload is not None:
                    self._resume(key, workload)
                self._look_at(key)

    def follow(self, events: Sequence[Event]) -> None:
        """Note whom a commit concerns."""
        for event in events:
            key = (event.after.collection, event.after.name)
            if key[0] == NODES:
                self._look_at(ALL_NODES)
            elif key[0] not in KEPT:
                continue
            elif event.removed:
                self._forget(key)
            elif key in self._writing:
                self._writing.discard(key)  # our own, or one it was decided on top of
            else:
                self._look_at(key)

    def _look_at(self, key: Key) -> None:
        self._lanes[zlib.crc32(key[1].encode()) % LANES].add(key, Level.REPORT)

    def _resource(self, collection: str) -> Resource:
        resource = self._api.catalog.of_collection(collection)
        assert resource is not None, f"{collection} are always served"
        return resource

    def _count_nodes(self) -> None:
        """Share out the room again: nodes came, went or changed."""
        resource = self._resource(NODES)
        records = self._api.store.page(NODES).records
        self.nodes = Nodes(filter(None, (stored_object(resource, one) for one in records)))
        changed = self.room.resize(self.nodes.capacity())
        for key in (*changed, *(key for key in self._kept if key[0] == "daemonsets.apps")):
            self._look_at(key)

    def _resume(self, key: Key, workload: Object) -> None:
        """Take the pods for ready that the status says are."""
        known = workload.get("status") or {}
        ready = known.get("readyReplicas", known.get("numberReady", known.get("ready", 0)))
        if known.get("phase") == "Running":
            ready = 1
        kept = self._known(key, workload)
        kept.ended = known.get("succeeded", 0)
        now = asyncio.get_running_loop().time()
        kept.progress = Progress(kept.template, (Batch(now, ready),) if ready else ())

    def _forget(self, key: Key) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            if kept.timer is not None:
                kept.timer.cancel()
            self.room.give_back(key)
            self._look_at_waiting()

    def _look_at_waiting(self) -> None:
        for key in self.room.waiting():
            self._look_at(key)

    async def _keep(self, key: Key) -> None:
        """Bring one workload's status to where it should be now."""
        if key == ALL_NODES:
            self._count_nodes()
            return
        collection, name = key
        resource = self._resource(collection)
        record = self._api.store.get(collection, name)
        workload = stored_object(resource, record)
        if record is None or workload is None or metadata_of(record).deletion_timestamp:
            return  # one that is ending keeps what it has until it is gone
        pods = self._pods(key, workload) if collection in WITH_PODS else Pods()
        fresh = status(workload, pods, self._api.timestamp())
        if fresh is not None:
            await self._write(resource, workload, fresh)

    async def _write(self, resource: Resource, seen: Object, fresh: Object) -> None:
        meta = metadata(seen)
        call = call_on(resource, meta.get("namespace", ""), meta["name"]).on("status")
        form = Form(self._api, call, WriteOptions(field_manager=MANAGER))

        def decide(newest: Object | None) -> Verdict:
            if newest is None:
                raise not_found(resource.plural, resource.group, meta["name"])
            # Of another one, or of another wish, there will be an event that leads here again.
            if any(metadata(newest).get(key) != meta.get(key) for key in ("uid", "generation")):
                return Leave(newest)
            verdict = formed_update(form, {**newest, "status": fresh}, newest)
            if isinstance(verdict, Save):
                self._writing.add(key)
            return verdict

        key = (resource.collection, call.key())
        try:
            await write(self._api, resource, call.key(), decide)
        except ApiError as error:
            if error.code != 404:
                raise
        finally:
            self._writing.discard(key)

    def _pods(self, key: Key, workload: Object) -> Pods:
        """Count the workload's pods as of now, and come back when the next of them is due."""
        kept = self._known(key, workload)
        now = asyncio.get_running_loop().time()
        pods = self._counted(key, kept, workload, now)
        due = kept.progress.next_at(now)
        if workload["kind"] == "Job":
            while pods.given and (done_at := self._round_ends(kept)) <= now:
                kept.ended += pods.given
                kept.progress = Progress(kept.template)
                pods = self._counted(key, kept, workload, now)
            if pods.given:
                due = min(filter(None, (kept.progress.next_at(now), done_at)))
        self._come_back(key, kept, due)
        return pods

    def _counted(self, key: Key, kept: _Kept, workload: Object, now: float) -> Pods:
        wanted = self._wanted(workload, kept)
        given = self._given(key, kept.demand, wanted)
        strategy = (workload["spec"].get("strategy") or {}).get("type")
        kept.progress = progress = advanced(
            kept.progress,
            Progress(kept.template, (Batch(now + self._pace.start_s, given),)),
            now,
            rolling=strategy != "Recreate",
        )
        older, ready = progress.older(now), progress.ready(now)
        return Pods(wanted, given, ready + older, wanted - older, kept.ended)

    def _round_ends(self, kept: _Kept) -> float:
        """When the pods of a job that run now have all done their work."""
        return max(one.ready_at for one in kept.progress.batches) + self._pace.job_s

    def _known(self, key: Key, workload: Object) -> _Kept:
        """What we keep of a workload, with the template it has now."""
        is_pod = key[0] == "pods"
        # The pods that a replica set has are not touched by its new template.
        template = "" if is_pod or key[0] == "replicasets.apps" else revision(workload)
        kept = self._kept.get(key)
        if kept is None or kept.template != template:
            spec = workload["spec"] if is_pod else workload["spec"]["template"].get("spec") or {}
            asked = demand(spec)
            if kept is None:
                kept = self._kept[key] = _Kept(template, asked, Progress(template))
            kept.template, kept.demand = template, asked
        return kept

    def _wanted(self, workload: Object, kept: _Kept) -> int:
        """How many pods there should be now."""
        spec: Object = workload["spec"]
        match workload["kind"]:
            case "Pod":
                phase = (workload.get("status") or {}).get("phase")
                return int(phase not in ("Succeeded", "Failed"))
            case "DaemonSet":
                return self.nodes.matching(kept.demand.claim)
            case "Job":
                if spec.get("suspend") or is_finished(workload):
                    return 0
                left = completions(workload) - kept.ended
                return max(0, min(int(spec.get("parallelism", 1)), left))
        return int(spec.get("replicas", 1))

    def _given(self, key: Key, asked: Demand, wanted: int) -> int:
        needs = {name: amount.in_its_unit(name) for name, amount in asked.requests} | {PODS: 1}
        before = self.room.given(key)
        given = self.room.give(key, tuple(needs.items()), wanted)
        if given < before:
            self._look_at_waiting()
        return given

    def _come_back(self, key: Key, kept: _Kept, due: float | None) -> None:
        if kept.timer is not None:
            kept.timer.cancel()
            kept.timer = None
        if due is not None:
            loop = asyncio.get_running_loop()
            kept.timer = loop.call_at(due, self._look_at, key)
