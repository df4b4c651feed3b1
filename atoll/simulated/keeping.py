"""The controllers of a member: follows its store, and does what Kubernetes' own would do.

Notes whom a commit concerns; plans it (`plans`) from what is stored; carries out the plan (`hosts`,
`hand`). What a plan leads to is committed too and leads to the next one, until nothing is left to
do. A Deployment is looked after together with its ReplicaSets: all of it is one key.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import orjson

from atoll.apiserver.assembly import Service
from atoll.apiserver.objects.metadata import GENERATED_ALPHABET
from atoll.apiserver.objects.view import Metadata, metadata_of
from atoll.apiserver.verbs.call import Api
from atoll.control.levels import Level
from atoll.model.named import Named
from atoll.runtime.turns import Turns
from atoll.runtime.worklist import Worklist
from atoll.simulated.hand import Hand, Refusal, stored
from atoll.simulated.hosts import ALL_NODES, NODES, PODS, WAITING, Hosts
from atoll.simulated.kubelet import Pace
from atoll.simulated.plans import (
    cronjobs,
    daemons,
    deployments,
    jobs,
    mirroring,
    replicas,
    services,
    slices,
    stateful,
    steps,
    volumes,
)
from atoll.simulated.plans.census import Pod
from atoll.simulated.plans.revisions import COLLECTION as REVISIONS
from atoll.simulated.plans.setting import Setting
from atoll.simulated.plans.steps import End, Key, Make, Plan, Step, status_change
from atoll.store.record import Event, Record
from atoll.wire import Wire

__all__ = ["Keeper", "Pace"]

OWNERS = (
    deployments.COLLECTION,
    replicas.COLLECTION,
    replicas.CONTROLLERS,
    stateful.COLLECTION,
    daemons.COLLECTION,
    jobs.COLLECTION,
    cronjobs.COLLECTION,
)
_WORKERS = 16
_REFUSED_AGAIN_S = 5.0


class Keeper:
    """Follows one member's store. Each workload is planned in order, others side by side.

    Several at a time, because a write waits for the disk, and those that wait are committed
    together.
    """

    def __init__(self, api: Api, pace: Pace) -> None:
        self.api = api
        self.hand = Hand(api)
        self._list: Worklist[Key] = Worklist("workloads")
        self.hosts = Hosts(api, self.hand, pace, self._look_at)
        self._owners: dict[str, Key] = {}
        self._children: Named[Key, str] = Named()  # by the uids of their owners
        self._daemons: dict[Key, None] = {}
        self._sets: Named[str, str] = Named()  # by namespace: the uids of replica sets
        self._deployments: Named[Key, str] = Named()  # by namespace, as are these:
        self._lone_sets: Named[Key, str] = Named()  # replica sets that nobody has
        self._services: dict[str, dict[str, dict[str, str]]] = {}
        self._slices: dict[str, dict[str, None]] = {}  # by service: the names of its slices
        self._again: dict[Key, asyncio.TimerHandle] = {}
        self._suffixes = api.effects.chance.of("pod names")

    def give_way(self, turns: Turns) -> None:
        """Let the arrival of objects go first in a plane that shares the process.

        It stands for the controllers of another machine, which would not hold up the plane either.
        """
        self._list.share(turns)

    @property
    def services(self) -> dict[str, Service]:
        run = partial(self._list.run, self._keep)
        return {f"workloads {number}": run for number in range(_WORKERS)}

    async def load(self, nodes: Sequence[Wire]) -> None:
        """Make these nodes where they are not there; take in what is, and see to all of it."""
        made = [Make(NODES, node) for node in nodes]
        if self.api.catalog.of_collection(volumes.CLASSES) is not None:
            made.append(Make(volumes.CLASSES, volumes.standard_class()))
        await self.hand.carry_out(made)
        self.hosts.load()
        followed = (slices.COLLECTION, services.COLLECTION, volumes.COLLECTION)
        for collection in (*OWNERS, REVISIONS, *followed):
            for record in self.api.store.page(collection).records:
                self._note(record, removed=False)

    def follow(self, events: Sequence[Event]) -> None:
        """Note whom a commit concerns."""
        for event in events:
            record = event.after
            if record.collection == PODS:
                self._follow_pod(event)
            elif record.collection == NODES:
                self._look_at(ALL_NODES)
            elif (record.collection, record.name) in self.hand.own:
                # Our own, or one that it was decided on top of.
                self.hand.own.discard((record.collection, record.name))
                if record.collection == jobs.COLLECTION:
                    for reference in metadata_of(record).owner_references:
                        self._look_at_owner(reference.uid)
            else:
                self._note(record, removed=event.removed)

    def _look_at(self, key: Key, level: Level = Level.REPORT) -> None:
        self._list.add(key, level)

    def _note(self, record: Record, *, removed: bool) -> None:
        key = (record.collection, record.name)
        match record.collection:
            case services.COLLECTION:
                self._note_service(record, removed=removed)
            case services.ENDPOINTS:
                namespace, _, name = record.name.partition("/")
                # What is told of the pods of a selector is our own, unless somebody takes it away.
                if removed or not self._services.get(namespace, {}).get(name):
                    self._look_at((services.COLLECTION, record.name))
            case slices.COLLECTION:
                self._note_slice(record, removed=removed)
            case volumes.COLLECTION:
                self._look_at(key)
                if removed:
                    self._look_at((volumes.VOLUMES, metadata_of(record).uid))
            case collection if collection in OWNERS or collection == REVISIONS:
                self._note_owner(key, record, removed=removed)

    def _note_owner(self, key: Key, record: Record, *, removed: bool) -> None:
        meta = metadata_of(record)
        owners = [reference.uid for reference in meta.owner_references]
        self._children.put(key, () if removed else owners)
        for uid in owners:
            self._look_at_owner(uid)
        if key[0] == REVISIONS:
            return
        self._note_lone(key, meta, removed=removed)
        if removed:
            self._owners.pop(meta.uid, None)
            self._daemons.pop(key, None)
            self._sets.put(meta.uid, ())
            return
        self._owners[meta.uid] = key
        if key[0] in (replicas.COLLECTION, replicas.CONTROLLERS):
            self._sets.put(meta.uid, (meta.namespace,))
        if key[0] == daemons.COLLECTION:
            self._daemons[key] = None
        self._look_at_owner(meta.uid)

    def _note_lone(self, key: Key, meta: Metadata, *, removed: bool) -> None:
        """Deployments may want a replica set that nobody has."""
        within = () if removed else (meta.namespace,)
        if key[0] == deployments.COLLECTION:
            self._deployments.put(key, within)
        elif key[0] == replicas.COLLECTION:
            is_lone = not meta.owner_references
            self._lone_sets.put(key, within if is_lone else ())
            for each in self._deployments.naming(meta.namespace) if is_lone else ():
                self._look_at(each)

    def _look_at_owner(self, uid: str) -> None:
        """Look at a workload, or at that which it is a part of."""
        key = self._owners.get(uid)
        if key is None:
            return
        if key[0] == replicas.COLLECTION:
            record = self.api.store.get(*key)
            for reference in () if record is None else metadata_of(record).owner_references:
                if reference.uid in self._owners:
                    self._look_at(self._owners[reference.uid])
                    return
        self._look_at(key)

    def _follow_pod(self, event: Event) -> None:
        before, after = self.hosts.census.note(event)
        self.hosts.changed(before, after)
        for owner in {pod.owner for pod in (before, after) if pod is not None and pod.owner}:
            self._look_at_owner(owner)
        if _is_stray(after) and not (_is_stray(before) and _labels(before) == _labels(after)):
            for uid in self._sets.naming(event.after.name.partition("/")[0]):
                self._look_at_owner(uid)
        if _behind(before) != _behind(after):
            self._look_at_services(before or after)

    def _look_at_services(self, pod: Pod | None) -> None:
        namespace = pod.key.partition("/")[0] if pod is not None else ""
        for name, selector in self._services.get(namespace, {}).items():
            if pod is not None and selector and selector.items() <= pod.labels.items():
                self._look_at((services.COLLECTION, f"{namespace}/{name}"), Level.TELL)

    def _note_service(self, record: Record, *, removed: bool) -> None:
        namespace, _, name = record.name.partition("/")
        if removed:
            self._services.get(namespace, {}).pop(name, None)
            self._look_at((services.ENDPOINTS, record.name))
            return
        self._look_at((services.COLLECTION, record.name))
        spec = orjson.loads(record.value)["spec"]
        self._services.setdefault(namespace, {})[name] = spec.get("selector") or {}

    def _note_slice(self, record: Record, *, removed: bool) -> None:
        service = (metadata_of(record).labels or {}).get(slices.OF_SERVICE)
        if service is None:
            return
        place = f"{record.name.partition('/')[0]}/{service}"
        names = self._slices.setdefault(place, {})
        if not removed:
            names[record.name] = None
            return
        names.pop(record.name, None)
        if not names:
            del self._slices[place]
        self._look_at((services.COLLECTION, place))

    async def _keep(self, key: Key) -> None:
        """Bring one thing a step closer to where it should be."""
        if key == ALL_NODES:
            self.hosts.renew_nodes()
            for each in self._daemons:
                self._look_at(each)
            await self.hosts.clear_nodes()
        elif key == WAITING:
            await self.hosts.find_places()
        elif key[0] == PODS:
            await self.hosts.keep(key[1])
        elif key[0] == volumes.VOLUMES:
            await self._drop(volumes.VOLUMES, volumes.volume_name(key[1]))
        elif key[0] == services.ENDPOINTS:
            # What was told of the pods behind a service goes with it.
            if self.stored(services.COLLECTION, key[1]) is None:
                await self._drop(*key)
        else:
            await self._keep_object(key)

    async def _keep_object(self, key: Key) -> None:
        found = self.stored(*key)
        if found is None or found["metadata"].get("deletionTimestamp"):
            return  # one that is ending keeps what it has until it is gone
        plan = self._plan(key, found)
        refused = await self.hosts.carry_out(plan.steps)
        if refused:
            await self._tell_refused(key, refused[0])
        self._come_back(key, _REFUSED_AGAIN_S if refused else plan.again_s)

    async def _tell_refused(self, key: Key, refusal: Refusal) -> None:
        """Say that pods could not be made, and how things are without them."""
        told = steps.failed_create(refusal.object, refusal.why, self.api.timestamp())
        found = self.stored(*key)
        plan = Plan() if found is None else self._plan(key, found, refusal.why)
        rest = [step for step in plan.steps if not isinstance(step, Make)]
        await self.hosts.carry_out([told, *rest])

    def _plan(self, key: Key, found: Wire, refusal: str = "") -> Plan:
        setting = replace(self._setting(), refusal=refusal)
        match key[0]:
            case deployments.COLLECTION:
                lone = self._there(self._lone_sets.naming(found["metadata"]["namespace"]))
                return deployments.plan(found, self._children_of(found), setting, lone)
            case replicas.COLLECTION | replicas.CONTROLLERS:
                return replicas.plan(found, setting, key[0])
            case stateful.COLLECTION:
                return stateful.plan(found, self._children_of(found), setting)
            case daemons.COLLECTION:
                return daemons.plan(found, self._children_of(found), setting)
            case jobs.COLLECTION:
                return jobs.plan(found, setting)
            case cronjobs.COLLECTION:
                return cronjobs.plan(found, self._children_of(found), setting)
            case volumes.COLLECTION:
                return Plan(volumes.plan(found))
        return Plan(self._of_service(found))

    def _setting(self) -> Setting:
        return Setting(
            moment=self.api.now(),
            suffix=lambda: "".join(self._suffixes.choices(GENERATED_ALPHABET, k=5)),
            mould=self.hosts.moulds.of,
            pods_of=self.hosts.census.owned_by,
            strays=self.hosts.census.strays,
            daemon_nodes=self.hosts.places.daemon_nodes,
        )

    def stored(self, collection: str, name: str) -> Wire | None:
        """An object as it is stored."""
        return stored(self.api.store, collection, name)

    def _children_of(self, owner: Wire) -> list[Wire]:
        """The replica sets, or the revisions, of a workload that are not ending, oldest first."""
        uid = owner["metadata"]["uid"]
        return [
            one
            for one in self._there(self._children.naming(uid))
            if any(each["uid"] == uid for each in one["metadata"].get("ownerReferences") or ())
        ]

    def _there(self, keys: Iterable[Key]) -> list[Wire]:
        """Those of these objects that are there and not ending, oldest first."""
        records = [
            record
            for key in keys
            if (record := self.api.store.get(*key)) is not None
            and metadata_of(record).deletion_timestamp is None
        ]
        records.sort(key=lambda one: (metadata_of(one).creation_timestamp or "", one.name))
        return [orjson.loads(record.value) for record in records]

    def _come_back(self, key: Key, again_s: float | None) -> None:
        known = self._again.pop(key, None)
        if known is not None:
            known.cancel()
        if again_s is not None:
            # Times are told in whole seconds: a little later is never too early.
            loop = asyncio.get_running_loop()
            self._again[key] = loop.call_later(max(1.0, again_s + 0.5), self._look_at, key)

    def _of_service(self, service: Wire) -> list[Step]:
        meta = service["metadata"]
        place = f"{meta['namespace']}/{meta['name']}"
        steps = status_change(services.COLLECTION, service, services.load_balancer(service))
        endpoints = self.stored(services.ENDPOINTS, place)
        if not service["spec"].get("selector"):
            return steps + mirroring.steps(endpoints, self._slices_of(place, mirroring.MANAGER))
        pods = services.selected(service, self.hosts.census.within(meta["namespace"]))
        groups = services.grouped(service, pods, self._port)
        steps += services.endpoint_steps(service, groups, endpoints)
        steps += services.slice_steps(service, groups, self._slices_of(place, services.MANAGER))
        return steps + slices.ended(self._slices_of(place, mirroring.MANAGER))

    def _slices_of(self, service: str, manager: str) -> list[Wire]:
        """The slices of a service that this controller of Kubernetes' keeps."""
        found = [self.stored(slices.COLLECTION, name) for name in self._slices.get(service, ())]
        return [
            one
            for one in found
            if one is not None and one["metadata"]["labels"].get(slices.MANAGED) == manager
        ]

    def _port(self, pod: Pod, name: str, protocol: str) -> int:
        spec = (self.stored(PODS, pod.key) or {}).get("spec") or {}
        sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy")]
        for container in [*(spec.get("containers") or ()), *sidecars]:
            for port in container.get("ports") or ():
                if (port.get("name"), port.get("protocol", "TCP")) == (name, protocol):
                    return int(port["containerPort"])
        return 0

    async def _drop(self, collection: str, name: str) -> None:
        found = self.stored(collection, name)
        if found is not None:
            await self.hand.carry_out([End((collection, name), found["metadata"]["uid"])])


def _is_stray(pod: Pod | None) -> bool:
    return pod is not None and not pod.owner


def _labels(pod: Pod | None) -> dict[str, str]:
    return {} if pod is None else pod.labels


def _behind(pod: Pod | None) -> tuple[object, ...] | None:
    """What services tell of a pod."""
    if pod is None or not pod.ip:
        return None
    return (pod.ip, pod.is_ready, pod.ending, pod.has_ended, pod.labels)
