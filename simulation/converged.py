"""What must hold once nothing disturbs a pipeline any more: everything is where it should be.

The stores of plane and members come in; the differences go out as sentences, none if it has
converged. What is read is what is stored, never what a controller believes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import orjson

from atoll.dialects.explanations import KEPT, expanded
from atoll.dialects.karmada import names
from atoll.simulated.member import Member
from atoll.store.store import Store
from atoll.wire import Wire
from simulation.objects import EXTRA, FOREIGN, SETTINGS, TINT
from simulation.promises import (
    BINDINGS,
    CLUSTERS,
    KINDS,
    NAMESPACES,
    TEMPLATES,
    WORKS,
    binding_of,
    leaving,
    names_of,
    targets_of,
)
from simulation.twins import missing_ordinals

POLICIES = ("propagationpolicies.policy.karmada.io", "clusterpropagationpolicies.policy.karmada.io")
EXPLANATIONS = "explanations.placement.atoll.io"
OVERRIDES = "overridepolicies.policy.karmada.io"
COUNTS = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")
COPIED = ("placement", "preserveResourcesOnDeletion", "suspension")


@dataclass(frozen=True)
class Scene:
    """All there is, as it is stored. `left`: clusters that were removed from the fleet once.

    What such a cluster had then, it may still have.
    """

    plane: Store
    members: Mapping[str, Member]
    left: set[str]

    def all(self, collection: str) -> dict[str, Wire]:
        return _all(self.plane, collection)

    def differences(self) -> Iterator[str]:
        """What is not as it should be."""
        bindings, clusters = self.all(BINDINGS), self.all(CLUSTERS)
        # One that leaves has its time for that.
        gone = "deletionTimestamp"
        fleet = {name: each for name, each in clusters.items() if gone not in each["metadata"]}
        yield from (
            f"{each} has not joined" for each in self.members if each not in self._joined(fleet)
        )
        policies = [each for one in POLICIES for each in self.all(one).values()]
        for collection, kind in KINDS.items():
            for path, template in self.all(collection).items():
                binding = bindings.get(names_of((kind, path)))
                yield from _misheld(template, policies, binding, fleet)
        overrides = self.all(OVERRIDES)
        for path, binding in bindings.items():
            resource = binding["spec"]["resource"]
            name = f"{resource['namespace']}/{resource['name']}"
            record = self.plane.get(TEMPLATES[resource["kind"]], name)
            if record is None:
                yield f"binding {path} has lost its template"
            else:
                yield from self._misplaced(binding, orjson.loads(record.value), fleet, overrides)
            yield from _misrequired(path, binding, bindings)
            yield from self._unfollowed(path, binding, bindings)
        yield from self._orphans(bindings)
        yield from self._misexplained(bindings)
        yield from self._misspaced(fleet)

    def _misexplained(self, bindings: dict[str, Wire]) -> Iterator[str]:
        """Explanations of bindings that are no more, and what nobody decided in that order."""
        for path, explanation in self.all(EXPLANATIONS).items():
            binding = bindings.get(path)
            if binding is None or binding["metadata"]["uid"] != explanation["binding"]["uid"]:
                yield f"the explanation {path} has outlived its binding"
            times = [each["time"] for each in expanded(explanation)["decisions"]]
            if not 0 < len(times) <= KEPT or times != sorted(times, reverse=True):
                yield f"the explanation {path} tells of {times}"

    def _joined(self, fleet: dict[str, Wire]) -> set[str]:
        """Who is in the fleet and ready, or was removed from it."""
        ready = {
            name
            for name, cluster in fleet.items()
            for each in (cluster.get("status") or {}).get("conditions") or ()
            if (each["type"], each["status"]) == ("Ready", "True")
        }
        return ready | (self.left - fleet.keys())

    def _misplaced(
        self, binding: Wire, template: Wire, fleet: dict[str, Wire], overrides: dict[str, Wire]
    ) -> Iterator[str]:
        """Works, objects and sums of one binding."""
        kind, metadata = template["kind"], template["metadata"]
        name = f"{metadata['namespace']}/{metadata['name']}"
        targets = targets_of(binding)
        work = names.work_name(kind, metadata["name"], metadata["namespace"])
        objects = self._objects(TEMPLATES[kind], name)
        unsent = {
            cluster
            for cluster in targets
            if cluster not in fleet
            or _is_suspended(binding, cluster)
            or (cluster in objects and not _is_ours(objects[cluster]))
        }
        if kind == "StatefulSet":
            parts = {cluster: each for cluster, each in objects.items() if cluster in targets}
            if targets and not unsent:
                yield from missing_ordinals(name, template, parts)
            return
        for cluster in sorted(self.members.keys() & fleet.keys()):
            has_work = self.plane.get(WORKS, f"{names.execution_namespace(cluster)}/{work}")
            there, where = objects.get(cluster), f"{kind} {name} in {cluster}"
            if cluster not in targets:
                is_kept = cluster in leaving(binding) or self._is_needed(binding, cluster)
                if not unsent and has_work and not is_kept:
                    yield f"{where} is no target and has a Work"
                continue
            if has_work is None:
                yield f"{where} is a target and has no Work"
            if cluster in unsent:
                is_left = there is not None and not _is_ours(there)
                ours_to_be = _is_to_overwrite(binding) and metadata["name"] != FOREIGN
                if is_left and ours_to_be and not _is_suspended(binding, cluster):
                    yield f"{where} is not ours, and should have been made so"
            elif there is None:
                yield f"{where} is a target and does not have it"
            else:
                # Let go before it was placed anew, it was told to be none, and that is known.
                share = targets[cluster] if binding["spec"].get("replicas") else 0
                yield from _misbuilt(template, there, share, where)
                yield from _untinted(there, fleet[cluster], overrides, where)
        if kind == "Deployment" and not unsent:
            told = [*targets, *leaving(binding)]
            # What was never made ours is left where it is, and not counted.
            held = [objects[each] for each in told if each in objects and _is_ours(objects[each])]
            yield from _missummed(name, template, held)

    def _is_needed(self, binding: Wire, cluster: str) -> bool:
        """Whether something that needs it is still there; whether that should be is told of it."""
        needed = binding["spec"].get("requiredBy") or ()
        parents = {f"{each['namespace']}/{each['name']}" for each in needed}
        namespace = names.execution_namespace(cluster)
        works = (each for path, each in self.all(WORKS).items() if path.startswith(f"{namespace}/"))
        return any(binding_of(each) in parents for each in works)

    def _unfollowed(self, path: str, binding: Wire, bindings: dict[str, Wire]) -> Iterator[str]:
        """What a Deployment refers to and is there goes where it goes."""
        spec = binding["spec"]
        settings = f"{spec['resource']['namespace']}/{SETTINGS}"
        if spec["resource"]["kind"] != "Deployment" or not spec.get("propagateDeps"):
            return
        if self.plane.get(TEMPLATES["ConfigMap"], settings) is None or not spec.get("clusters"):
            return
        followed = bindings.get(names_of(("ConfigMap", settings)), {}).get("spec", {})
        if path not in (
            f"{each['namespace']}/{each['name']}" for each in followed.get("requiredBy") or ()
        ):
            yield f"{path} needs {settings}, which does not know"

    def _objects(self, collection: str, name: str) -> dict[str, Wire]:
        found = {each: member.store.get(collection, name) for each, member in self.members.items()}
        return {key: orjson.loads(each.value) for key, each in found.items() if each is not None}

    def _orphans(self, bindings: dict[str, Wire]) -> Iterator[str]:
        """What is there and belongs to nobody."""
        for path, work in self.all(WORKS).items():
            of = binding_of(work)
            if of and of not in bindings:
                yield f"Work {path} is of {of}, which is not there"
        for cluster in sorted(self.members.keys() - self.left):
            for collection in KINDS:
                for path, wire in _all(self.members[cluster].store, collection).items():
                    annotations = wire["metadata"].get("annotations") or {}
                    if names.WORK_NAME not in annotations:
                        continue
                    of = f"{annotations[names.WORK_NAMESPACE]}/{annotations[names.WORK_NAME]}"
                    if self.plane.get(WORKS, of) is None:
                        yield f"{collection} {path} in {cluster} is of Work {of}, which is gone"

    def _misspaced(self, fleet: dict[str, Wire]) -> Iterator[str]:
        """Namespaces are in the members if they are in the plane."""
        wanted = self.plane.get(NAMESPACES, EXTRA) is not None
        for cluster in sorted(fleet.keys() & self.members.keys()):
            there = self.members[cluster].store.get(NAMESPACES, EXTRA) is not None
            if wanted != there and not (there and cluster in self.left):
                yield f"namespace {EXTRA} in {cluster}: wanted {wanted}, there {there}"


def _misheld(
    template: Wire, policies: list[Wire], binding: Wire | None, fleet: dict[str, Wire]
) -> Iterator[str]:
    """A template that does not belong to one of its policies, with a binding that says so."""
    what = f"{template['kind']} {template['metadata']['name']}"
    meant = [each for each in policies if _selects(each, template)]
    claim = _claim(template)
    policy = next((each for each in meant if _claim(each) == claim), None)
    if not meant:
        if claim:
            yield f"{what} is held by {claim}, and no policy means it"
    elif policy is None:
        yield f"{what} is held by {claim or 'nobody'}, and there are policies that mean it"
    elif binding is None:
        yield f"{what} has a policy and no binding"
    else:
        if _owner(binding) != template["metadata"]["uid"]:
            yield f"{what}: its binding is of another"
        if _claim(binding) != claim:
            yield f"{what}: its binding is held by {_claim(binding)}, itself by {claim}"
        for field in COPIED:
            asked, said = policy["spec"].get(field) or {}, binding["spec"].get(field) or {}
            if asked != said:
                yield f"{what}: {field} is {said} on the binding, {asked} in the policy"
        yield from _mistargeted(what, template, binding, fleet)


def _mistargeted(what: str, template: Wire, binding: Wire, fleet: dict[str, Wire]) -> Iterator[str]:
    """Targets that are not what the placement asks for."""
    placement = binding["spec"]["placement"]
    targets = {
        each["name"]: each.get("replicas", 0) for each in binding["spec"].get("clusters") or ()
    }
    affinity = placement.get("clusterAffinity") or {}
    meant = {name for name, cluster in fleet.items() if _meets(affinity, cluster)}
    is_open = {name for name in meant if _is_open(fleet[name], placement)}
    if not is_open:
        return  # it is nowhere, or where it was
    scheduling = placement.get("replicaScheduling") or {}
    divided = scheduling.get("replicaSchedulingType") == "Divided"
    if template["kind"] != "ConfigMap" and divided:
        replicas = template["spec"]["replicas"]
        if sum(targets.values()) != replicas:
            yield f"{what}: {targets} do not add up to {replicas}"
        # What runs is not moved by another label of a cluster.
        if "clusterNames" in affinity and not targets.keys() <= meant:
            yield f"{what}: is bound to {targets}, allowed are {sorted(meant)}"
    elif not is_open <= targets.keys() <= meant:
        yield f"{what}: is bound to {sorted(targets)}, asked for {sorted(is_open)}"


def _misrequired(path: str, binding: Wire, bindings: dict[str, Wire]) -> Iterator[str]:
    """Who needs something is there, and needs it where it says."""
    needed = binding["spec"].get("requiredBy") or ()
    for each in needed:
        of = bindings.get(f"{each['namespace']}/{each['name']}")
        if of is None or not of["spec"].get("propagateDeps"):
            yield f"{path} is needed by {each['name']}, which does not need it"
        elif (of["spec"].get("clusters") or []) != (each.get("clusters") or []):
            yield f"{path} is needed by {each['name']} in {each.get('clusters')}, not where it is"


def _misbuilt(template: Wire, there: Wire, share: int, where: str) -> Iterator[str]:
    if template["kind"] == "ConfigMap" and there.get("data") != template.get("data"):
        yield f"{where} says {there.get('data')}"
    if template["kind"] == "Deployment" and there["spec"]["replicas"] != share:
        yield f"{where} has {there['spec']['replicas']}, not {share}"


def _untinted(there: Wire, cluster: Wire, overrides: dict[str, Wire], where: str) -> Iterator[str]:
    """Labels that override policies give, and those that they gave once."""
    labels = there["metadata"].get("labels") or {}
    given = {key: value for key, value in labels.items() if key.startswith(TINT)}
    wanted: dict[str, str] = {}
    for override in overrides.values():
        rule = override["spec"]["overrideRules"][0]
        if _selects(override, there) and _meets(rule["targetCluster"], cluster):
            wanted |= rule["overriders"]["labelsOverrider"][0]["value"]
    if given != wanted:
        yield f"{where} has labels {given}, overrides ask for {wanted}"


def _missummed(name: str, template: Wire, parts: Iterable[Wire]) -> Iterator[str]:
    told = {count: (template.get("status") or {}).get(count, 0) for count in COUNTS}
    sums = dict.fromkeys(COUNTS, 0)
    for there in parts:
        for count in COUNTS:
            sums[count] += (there.get("status") or {}).get(count, 0)
    if told != sums:
        yield f"{name}: the members sum up to {sums}, the template says {told}"


def _all(store: Store, collection: str) -> dict[str, Wire]:
    return {record.name: orjson.loads(record.value) for record in store.page(collection).records}


def _selects(policy: Wire, wire: Wire) -> bool:
    own = policy["metadata"].get("namespace")
    if own and own != wire["metadata"]["namespace"]:
        return False
    return any(_means(each, wire) for each in policy["spec"]["resourceSelectors"])


def _means(selector: Wire, wire: Wire) -> bool:
    metadata = wire["metadata"]
    if any(selector[key] != wire[key] for key in ("apiVersion", "kind")):
        return False
    if any(selector.get(key) not in (None, metadata[key]) for key in ("namespace", "name")):
        return False
    wanted = (selector.get("labelSelector") or {}).get("matchLabels") or {}
    return wanted.items() <= (metadata.get("labels") or {}).items()


def _meets(affinity: Wire, cluster: Wire) -> bool:
    metadata = cluster["metadata"]
    if metadata["name"] not in affinity.get("clusterNames", [metadata["name"]]):
        return False
    wanted = (affinity.get("labelSelector") or {}).get("matchLabels") or {}
    return wanted.items() <= (metadata.get("labels") or {}).items()


def _is_open(cluster: Wire, placement: Wire) -> bool:
    return not cluster["spec"].get("taints") or bool(placement.get("clusterTolerations"))


def _is_suspended(binding: Wire, cluster: str) -> bool:
    suspension = binding["spec"].get("suspension") or {}
    some = (suspension.get("dispatchingOnClusters") or {}).get("clusterNames") or ()
    return bool(suspension.get("dispatching")) or cluster in some


def _is_to_overwrite(binding: Wire) -> bool:
    return bool(binding["spec"].get("conflictResolution") == "Overwrite")


def _is_ours(wire: Wire) -> bool:
    return bool((wire["metadata"].get("labels") or {}).get(names.MANAGED) == "true")


def _claim(wire: Wire) -> str:
    labels = wire["metadata"].get("labels") or {}
    return str(labels.get(names.POLICY_ID) or labels.get(names.CLUSTER_POLICY_ID) or "")


def _owner(binding: Wire) -> str:
    owners = binding["metadata"].get("ownerReferences") or ()
    return next((each["uid"] for each in owners), "")
