"""Who is there: the few facts about every pod that controllers count by, found by owner and place.

Fed with the store's events, in order. Whole pods are not kept: they are in the store.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from atoll.simulated.plans.moulds import RUN_S
from atoll.store.record import Event, Record

ENDED = ("Succeeded", "Failed")
TEMPLATE_HASH, REVISION = "pod-template-hash", "controller-revision-hash"
INDEX = "batch.kubernetes.io/job-completion-index"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class _Owner(msgspec.Struct, frozen=True):
    uid: str = ""
    kind: str = ""
    controller: bool | None = None


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str
    uid: str
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[_Owner, ...] = ()
    deletion_timestamp: str | None = None


class _Condition(msgspec.Struct, frozen=True, rename="camel"):
    type: str
    status: str
    last_transition_time: str | None = None


class _Container(msgspec.Struct, frozen=True, rename="camel"):
    restart_count: int = 0


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    phase: str = ""
    observed_generation: int = 0
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[_Condition, ...] = ()
    container_statuses: tuple[_Container, ...] = ()


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""
    active_deadline_seconds: int | None = None
    affinity: dict[str, Any] | None = None

    @property
    def meant_for(self) -> str:
        """The one node that a daemon's pod is made for."""
        of_nodes = (self.affinity or {}).get("nodeAffinity") or {}
        terms = (of_nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
        fields = [each for term in terms for each in term.get("matchFields") or ()]
        named: list[str] = [value for each in fields for value in each.get("values") or ()]
        return named[0] if len(named) == 1 else ""


class _Wire(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Pod(msgspec.Struct, frozen=True):
    """One pod, as whoever counts pods sees it."""

    key: str
    uid: str
    born: int  # the revision it was first seen at: the order of arrival
    labels: dict[str, str]
    owner: str = ""  # the uid of its controller
    node: str = ""
    ip: str = ""
    phase: str = ""
    is_ready: bool = False
    since: str = ""  # when it was last ready, or was ready no more
    ending: bool = False
    restarts: int = 0
    target: str = ""  # the node that a daemon is meant for
    index: int = -1  # of an indexed job
    is_limited: bool = False  # whether it ends by itself
    is_observed: bool = True  # whether its status is of its present spec

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing will become of it by itself."""
        return self.is_ready and self.is_observed and not self.is_limited and not self.ending

    @property
    def has_ended(self) -> bool:
        return self.phase in ENDED

    @property
    def is_active(self) -> bool:
        """Whether it counts as one of the wanted pods."""
        return not self.ending and self.phase not in ENDED

    @property
    def revision(self) -> str:
        return self.labels.get(REVISION) or self.labels.get(TEMPLATE_HASH) or ""

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]

    @property
    def ordinal(self) -> int:
        """Its number in a stateful set; -1 without one."""
        digits = self.key.rpartition("-")[2]
        return int(digits) if digits.isdigit() else -1


_decoder: Any = msgspec.json.Decoder(_Wire)
_NOTHING: dict[str, Pod] = {}


def facts(record: Record, born: int) -> Pod:
    """What a stored pod is counted by."""
    wire: _Wire = _decoder.decode(record.value)
    meta, status = wire.metadata, wire.status
    owner = next((one for one in meta.owner_references if one.controller), _Owner())
    ready = next((one for one in status.conditions if one.type == "Ready"), None)
    index = (meta.annotations or {}).get(INDEX, "")
    return Pod(
        key=record.name,
        uid=meta.uid,
        born=born,
        labels=meta.labels or {},
        owner=owner.uid,
        node=wire.spec.node_name,
        ip=status.pod_ip,
        phase=status.phase,
        is_ready=ready is not None and ready.status == "True",
        since=(ready.last_transition_time or "") if ready is not None else "",
        ending=meta.deletion_timestamp is not None,
        restarts=sum(one.restart_count for one in status.container_statuses),
        target=wire.spec.node_name or wire.spec.meant_for,
        index=int(index) if index.isdigit() else -1,
        is_limited=owner.kind == "Job"
        or wire.spec.active_deadline_seconds is not None
        or RUN_S in (meta.annotations or {}),
        is_observed=status.observed_generation == meta.generation,
    )


class Census:
    """All pods of a cluster, by name, by owner, by node and by namespace."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self._owned: dict[str, dict[str, Pod]] = {}
        self._on: dict[str, dict[str, Pod]] = {}
        self._within: dict[str, dict[str, Pod]] = {}
        self._strays: dict[str, dict[str, Pod]] = {}

    def owned_by(self, uid: str) -> list[Pod]:
        """The pods of this controller, the oldest first."""
        return sorted(self._owned.get(uid, _NOTHING).values(), key=lambda pod: pod.born)

    def on(self, node: str) -> Iterable[Pod]:
        return list(self._on.get(node, _NOTHING).values())

    def nodes(self) -> list[str]:
        """The nodes that have pods."""
        return list(self._on)

    def within(self, namespace: str) -> Iterable[Pod]:
        return self._within.get(namespace, _NOTHING).values()

    def strays(self, namespace: str) -> list[Pod]:
        """The pods of a namespace that no controller has."""
        return list(self._strays.get(namespace, _NOTHING).values())

    def note(self, event: Event) -> tuple[Pod | None, Pod | None]:
        """Follow one event of a pod; gives what it was and what it is."""
        before = self.pods.get(event.after.name)
        if event.removed:
            self._forget(event.after.name)
            return before, None
        return before, self.add(event.after)

    def add(self, record: Record) -> Pod:
        """Take in a pod as it is now."""
        before = self.pods.get(record.name)
        pod = facts(record, record.revision if before is None else before.born)
        if before is not None and before.uid != pod.uid:
            pod = facts(record, record.revision)
        self._forget(record.name)
        self.pods[pod.key] = pod
        for index, at in self._places(pod):
            index.setdefault(at, {})[pod.key] = pod
        return pod

    def _places(self, pod: Pod) -> list[tuple[dict[str, dict[str, Pod]], str]]:
        namespace = pod.key.partition("/")[0]
        found = [(self._owned, pod.owner), (self._on, pod.node), (self._within, namespace)]
        found.append((self._strays, "" if pod.owner else namespace))
        return [(index, at) for index, at in found if at]

    def _forget(self, key: str) -> None:
        pod = self.pods.pop(key, None)
        if pod is None:
            return
        for index, at in self._places(pod):
            index[at].pop(key, None)
            if not index[at]:
                del index[at]
