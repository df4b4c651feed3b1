"""What must hold at every moment of a pipeline, held against every commit of plane and members.

Commits come in as the stores tell them, before anyone else hears of them; the first broken promise
is an AssertionError. Bindings are believed as to where things go; whether they should is checked
elsewhere. What the controllers know, and how, is not known here.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

import orjson

from atoll.dialects.karmada import names
from atoll.simulated.member import Member
from atoll.store.record import Event, Record
from atoll.store.store import Store
from atoll.wire import Wire
from simulation.moves import Moves
from simulation.thrift import Thrift
from simulation.twins import Ordinals
from simulation.world import World

BINDINGS = "resourcebindings.work.karmada.io"
WORKS = "works.work.karmada.io"
CLUSTERS = "clusters.cluster.karmada.io"
NAMESPACES = "namespaces"
TEMPLATES = {
    "Deployment": "deployments.apps",
    "ConfigMap": "configmaps",
    "StatefulSet": "statefulsets.apps",
}
KINDS = {collection: kind for kind, collection in TEMPLATES.items()}
# A decision that was right this long ago may still be on its way.
RECENT_S = 120.0
# What cannot arrive is waited for no longer than this when something moves.
MOVE_LIMIT_S = 600.0

Key = tuple[str, str]  # a kind, and namespace/name


class Promises:
    """Follows the plane, life after life, and its members."""

    def __init__(self, world: World, members: Mapping[str, Member]) -> None:
        self._world = world
        self._members = members
        self._plane: Store | None = None
        self._targets: dict[Key, set[str]] = defaultdict(set)
        self._entered: dict[Key, dict[str, float]] = defaultdict(dict)
        self._moved: dict[Key, float] = {}
        self._promised: dict[Key, list[tuple[float, int]]] = defaultdict(list)
        self._nowhere: dict[Key, float] = {}
        self._edited: dict[Key, float] = {}
        self._taken: dict[Key, float] = {}
        """When a user took one away by hand: for a moment the plane does not know."""
        self._foreign: dict[tuple[str, Key], Wire] = {}
        self._joined: set[str] = set()
        self._ordinals = Ordinals()
        self._moves = Moves(self._work_of)
        self.thrift = Thrift()
        self.by_hand: set[str] = set()
        """The uids of what users delete in members themselves."""
        self.left: set[str] = set()
        """The clusters that were ever removed from the fleet."""
        self.removed = 0
        self.preserved = 0
        self.checked = 0
        self.made = 0

    def was_joined(self, cluster: str) -> bool:
        return cluster in self._joined

    def expect_edit(self, wire: Wire) -> None:
        """A user is about to change or delete this object of a member."""
        metadata = wire["metadata"]
        self._edited[wire["kind"], f"{metadata['namespace']}/{metadata['name']}"] = _now()

    def follow_plane(self, store: Store) -> None:
        """Believe what the plane has now, and check what it does from now on."""
        self._plane = store
        for record in store.page(BINDINGS).records:
            self._bound(None, _object(record))
        store.listen(self._plane_changed)

    def follow_members(self) -> None:
        """What is in the members now is theirs; check what happens from now on."""
        for name, member in self._members.items():
            for collection, kind in KINDS.items():
                for record in member.store.page(collection).records:
                    self._foreign[name, (kind, record.name)] = _meant(_object(record))
            member.store.listen(partial(self._member_changed, name))

    def check_foreign(self) -> None:
        """Everything that was in the members before is there as it was."""
        for (cluster, (kind, name)), wire in self._foreign.items():
            record = self._members[cluster].store.get(TEMPLATES[kind], name)
            assert record is not None, f"{kind} {name} of {cluster} is not ours and is gone"
            assert _meant(_object(record)) == wire, f"{kind} {name} of {cluster} is not ours"

    def _plane_changed(self, events: Sequence[Event]) -> None:
        for event in events:
            after = _object(event.after)
            before = _object(event.before) if event.before is not None else None
            if event.after.collection == CLUSTERS:
                self._joined.add(event.after.name)
            elif event.after.collection == BINDINGS and not event.removed:
                self.thrift.binding_changed(before, after)
                self._bound(before, after)
            elif event.after.collection == WORKS:
                going = not event.removed and _is_going(after)
                if before is None or event.removed or _is_going(before) != going:
                    how = "is gone" if event.removed else "is made" if not before else "is going"
                    self._world.note(f"Work {event.after.name} {how}")
                if before is None:
                    self._check_alone(after)
                elif going and not _is_going(before):
                    self._check_withdrawal(after)
                elif binding := binding_of(after):
                    self._moves.reported(binding)

    def _bound(self, before: Wire | None, binding: Wire) -> None:
        """A binding says where its template goes; if it divides, the parts are the whole."""
        key, targets = _template(binding), targets_of(binding)
        self._targets[key] |= targets.keys()
        spec, now = binding["spec"], _now()
        entered = self._entered[key]
        if entered.keys() != targets.keys():
            self._moved[key] = now
        self._entered[key] = {name: entered.get(name, now) for name in targets}
        self._moves.decided(names_of(key), targets)
        if not targets and before is not None and targets_of(before):
            self._nowhere[key] = now
        if before is not None and targets_of(before) != targets:
            self._world.note(f"{key[1]} is bound to {targets}")
        if not targets or key[0] != "Deployment":
            return
        whole = spec.get("replicas", 0)
        self._promised[key].append((now, min(whole, sum(targets.values()))))
        if before is None or targets_of(before) == targets or leaving(before) != leaving(binding):
            return  # what is to leave is placed anew by whoever decides
        how = (spec.get("placement") or {}).get("replicaScheduling") or {}
        if how.get("replicaSchedulingType") == "Divided":
            assert sum(targets.values()) == whole, f"{key}: {targets} do not add up to {whole}"

    def _check_alone(self, work: Wire) -> None:
        """No other Work of the cluster asks for the same object."""
        assert self._plane is not None
        asked = _asked(work)
        for record in self._plane.page(WORKS, prefix=f"{_namespace(work)}/").records:
            other = _object(record)
            if other["metadata"]["uid"] != work["metadata"]["uid"] and _namespace(
                other
            ) == _namespace(work):
                assert not asked & _asked(other), f"two Works ask for {asked & _asked(other)}"

    def _check_withdrawal(self, work: Wire) -> None:
        """A Work goes because its template goes, or is not meant for its cluster any more."""
        of, cluster = binding_of(work), names.cluster_of(_namespace(work))
        binding = self._find(BINDINGS, of) if of else None
        if binding is None or _is_going(binding) or cluster is None:
            return
        if self._is_removed(cluster):
            return
        key = _template(binding)
        entered = self._entered[key].get(cluster)
        recently = entered is None or entered > _now() - RECENT_S
        assert recently, f"the Work of {of} goes from {cluster}, which is a target"
        is_waited_for = self._moved.get(key, 0.0) > _now() - MOVE_LIMIT_S
        if entered is None and is_waited_for and key[0] != "StatefulSet":
            self._moves.check(of, cluster)

    def _is_removed(self, cluster: str) -> bool:
        """Whether somebody removed a cluster, and what found no other place goes with it."""
        space = self._find(NAMESPACES, names.execution_namespace(cluster))
        return space is None or _is_going(space)

    def _work_of(self, binding: str, cluster: str) -> Wire | None:
        """The Work of a binding for a cluster."""
        found = self._find(BINDINGS, binding)
        if found is None:
            return None
        kind, path = _template(found)
        namespace, _, name = path.partition("/")
        work = names.work_name(kind, name, namespace)
        return self._find(WORKS, f"{names.execution_namespace(cluster)}/{work}")

    def _member_changed(self, cluster: str, events: Sequence[Event]) -> None:
        for event in events:
            kind = KINDS.get(event.after.collection)
            if kind is None:
                continue
            self.checked += 1
            key, after = (kind, event.after.name), _object(event.after)
            if (cluster, key) in self._foreign:
                known = self._foreign[cluster, key]
                assert not event.removed, f"{key} of {cluster} is theirs"
                assert _meant(after) == known, f"{key} of {cluster} is theirs"
                continue
            before = _object(event.before) if event.before is not None else None
            if kind == "StatefulSet":
                self._ordinals.committed(cluster, key[1], None if event.removed else after)
            if not _is_ours(after):
                if before is not None and _is_ours(before):
                    self._check_release(cluster, key, before)
                elif event.removed:
                    known_by_hand = after["metadata"]["uid"] in self.by_hand
                    going = self._is_ending(cluster, key)
                    assert known_by_hand or going, f"{key} of {cluster} was let go, and is gone"
                continue
            assert cluster in self._targets[key], f"{key} was never meant for {cluster}"
            if event.before is None or event.removed:
                how = "is gone from" if event.removed else "is made in"
                self._world.note(f"{key[1]} {how} {cluster}")
                self.made += not event.removed
            elif before is not None:
                assert not _is_ours(before) or _maker(before) == _maker(after), (
                    f"two Works own {key}"
                )
            if event.removed and after["metadata"]["uid"] in self.by_hand:
                self._taken[key] = _now()
            elif event.removed:
                self.removed += 1
                self._check_removal(cluster, key, after)

    def _check_release(self, cluster: str, key: Key, was: Wire) -> None:
        """What is let go in a member is so because its policy said that it outlives its Work."""
        work = self._find(WORKS, "/".join(str(each) for each in _maker(was)))
        assert work is None or _is_preserving(work), f"{key} of {cluster} is let go: {_maker(was)}"
        self._world.note(f"{key[1]} is let go in {cluster}")
        self.preserved += 1

    def _check_removal(self, cluster: str, key: Key, gone: Wire) -> None:
        """What goes from a cluster was withdrawn; and if it moved, it is elsewhere already."""
        if self._is_ending(cluster, key):
            return
        work = self._find(WORKS, "/".join(str(each) for each in _maker(gone)))
        assert work is None or _is_going(work), f"{key} left {cluster}, and its Work is there"
        assert work is None or not _is_preserving(work), f"{key} left {cluster}, unasked"
        binding = self._find(BINDINGS, names_of(key))
        template = self._find(TEMPLATES[key[0]], key[1])
        if binding is None or template is None or _is_going(binding) or _is_going(template):
            return
        if _annotations(gone).get(names.TEMPLATE_UID) != template["metadata"]["uid"]:
            return  # it was of an earlier one of that name
        since = _now() - RECENT_S
        if self._is_removed(cluster):
            return
        if self._nowhere.get(key, since) > since:
            return  # its users asked for clusters that cannot have it
        if self._moved.get(key, 0.0) < _now() - MOVE_LIMIT_S or key[0] == "StatefulSet":
            return  # it was waited for long enough; or it must not be in two places
        elsewhere = [
            _object(record)
            for name, member in self._members.items()
            if name != cluster
            and (record := member.store.get(TEMPLATES[key[0]], key[1])) is not None
        ]
        is_taken = self._taken.get(key, since) > since
        assert elsewhere or is_taken, f"{key} left {cluster} and is nowhere"
        if key[0] == "Deployment" and not is_taken and self._edited.get(key, since) <= since:
            there = sum(each["spec"].get("replicas", 1) for each in elsewhere)
            history = self._promised[key]
            recent = [count for at, count in history if at >= since] or [history[-1][1]]
            least = min(recent)
            assert there >= least, f"{key} left {cluster}: {there} replicas of {least} are left"

    def _is_ending(self, cluster: str, key: Key) -> bool:
        """Whether a user has ended the namespace of something, and so what is in it."""
        record = self._members[cluster].store.get(NAMESPACES, key[1].partition("/")[0])
        return record is None or _is_going(_object(record))

    def _find(self, collection: str, name: str) -> Wire | None:
        assert self._plane is not None
        record = self._plane.get(collection, name)
        return None if record is None else _object(record)


def names_of(key: Key) -> str:
    """Where the binding of a template is."""
    namespace, _, name = key[1].partition("/")
    return f"{namespace}/{names.binding_name(key[0], name)}"


def _object(record: Record) -> Wire:
    wire: Wire = orjson.loads(record.value)
    return wire


def _meant(wire: Wire) -> Wire:
    """What someone asked for, without what the server and the cluster say about it."""
    own = ("name", "namespace", "labels", "annotations", "uid")
    metadata = {key: wire["metadata"].get(key) for key in own}
    annotations = dict(metadata["annotations"] or {})
    annotations.pop("deployment.kubernetes.io/revision", None)
    return {**wire, "metadata": {**metadata, "annotations": annotations}, "status": None}


def _template(binding: Wire) -> Key:
    resource = binding["spec"]["resource"]
    return resource["kind"], f"{resource['namespace']}/{resource['name']}"


def targets_of(binding: Wire) -> dict[str, int]:
    """The clusters decided for, and those of whoever needs it."""
    spec = binding["spec"]
    lists = [each.get("clusters") for each in spec.get("requiredBy") or ()] + [spec.get("clusters")]
    return {each["name"]: each.get("replicas", 0) for one in lists for each in one or ()}


def leaving(binding: Wire) -> set[str]:
    """The clusters that it is being evicted from."""
    tasks = binding["spec"].get("gracefulEvictionTasks") or ()
    return {each["fromCluster"] for each in tasks}


def _is_preserving(work: Wire) -> bool:
    return bool(work["spec"].get("preserveResourcesOnDeletion"))


def _now() -> float:
    return asyncio.get_running_loop().time()


def binding_of(work: Wire) -> str:
    """Where the binding of a Work is; nothing for that of a namespace."""
    annotations = _annotations(work)
    if names.BINDING_NAME not in annotations:
        return ""
    return f"{annotations[names.BINDING_NAMESPACE]}/{annotations[names.BINDING_NAME]}"


def _asked(work: Wire) -> set[tuple[str, str, str]]:
    manifests = work["spec"]["workload"].get("manifests") or ()
    return {
        (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"])
        for each in manifests
    }


def _namespace(wire: Wire) -> str:
    return str(wire["metadata"].get("namespace", ""))


def _is_going(wire: Wire) -> bool:
    return bool(wire["metadata"].get("deletionTimestamp"))


def _is_ours(wire: Wire) -> bool:
    return (wire["metadata"].get("labels") or {}).get(names.MANAGED) == "true"


def _annotations(wire: Wire) -> dict[str, str]:
    return wire["metadata"].get("annotations") or {}


def _maker(wire: Wire) -> tuple[str | None, str | None]:
    known = _annotations(wire)
    return known.get(names.WORK_NAMESPACE), known.get(names.WORK_NAME)
