"""What must hold once nothing disturbs a pipeline any more: everything is where it should be.

The stores of plane and members come in; the differences go out as sentences, none if it has
converged. What is read is what is stored, never what a controller believes.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from atoll.dialects.karmada import names
from atoll.simulated.member import Member
from atoll.store.store import Store
from simulation.promises import BINDINGS, KINDS, TEMPLATES, WORKS, names_of

Wire = dict[str, Any]
POLICIES = "propagationpolicies.policy.karmada.io"
COUNTS = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")


def differences(plane: Store, members: dict[str, Member]) -> Iterator[str]:
    """What is not as it should be."""
    bindings = _all(plane, BINDINGS)
    yield from _unbound(plane, bindings)
    for path, binding in bindings.items():
        yield from _misplaced(plane, members, path, binding)
    yield from _orphans(plane, members, bindings)


def _unbound(plane: Store, bindings: dict[str, Wire]) -> Iterator[str]:
    """Templates whose binding is not what their policy says."""
    policies = {each["metadata"]["name"]: each for each in _all(plane, POLICIES).values()}
    for collection, kind in KINDS.items():
        for path, template in _all(plane, collection).items():
            policy = policies.get((template["metadata"].get("labels") or {}).get("group", ""))
            if policy is None:
                continue
            binding = bindings.get(names_of((kind, path)))
            if binding is None:
                yield f"{kind} {path} has a policy and no binding"
                continue
            yield from _misplanned(template, policy, binding)


def _misplanned(template: Wire, policy: Wire, binding: Wire) -> Iterator[str]:
    what = f"{template['kind']} {template['metadata']['name']}"
    placement = policy["spec"]["placement"]
    if binding["metadata"]["uid"] and _owner(binding) != template["metadata"]["uid"]:
        yield f"{what}: its binding is of another"
    allowed = set(placement["clusterAffinity"]["clusterNames"])
    targets = _targets(binding)
    replicas = template.get("spec", {}).get("replicas", 0)
    divided = "replicaScheduling" in placement and (
        placement["replicaScheduling"].get("replicaSchedulingType") == "Divided"
    )
    if template["kind"] == "Deployment" and divided:
        if not targets.keys() <= allowed:
            yield f"{what}: is bound to {targets}, allowed are {allowed}"
        if sum(targets.values()) != replicas:
            yield f"{what}: {targets} do not add up to {replicas}"
    elif targets.keys() != allowed:
        yield f"{what}: is bound to {set(targets)}, asked for {allowed}"


def _misplaced(plane: Store, members: dict[str, Member], path: str, binding: Wire) -> Iterator[str]:
    """Works, objects and sums of one binding."""
    resource = binding["spec"]["resource"]
    kind, name = resource["kind"], f"{resource['namespace']}/{resource['name']}"
    record = plane.get(TEMPLATES[kind], name)
    if record is None:
        yield f"binding {path} has lost its template"
        return
    template, targets = orjson.loads(record.value), _targets(binding)
    work = names.work_name(kind, resource["name"], resource["namespace"])
    sums = dict.fromkeys(COUNTS, 0)
    for cluster, member in members.items():
        has_work = plane.get(WORKS, f"{names.execution_namespace(cluster)}/{work}") is not None
        found = member.store.get(TEMPLATES[kind], name)
        if has_work != (cluster in targets) or (found is not None) != (cluster in targets):
            yield (
                f"{kind} {name} in {cluster}: target {cluster in targets}, Work {has_work}, "
                f"there {found is not None}"
            )
        if found is None or cluster not in targets:
            continue
        there = orjson.loads(found.value)
        if kind == "ConfigMap" and there.get("data") != template.get("data"):
            yield f"{kind} {name} in {cluster} says {there.get('data')}"
        if kind == "Deployment" and there["spec"]["replicas"] != targets[cluster]:
            yield f"{name} has {there['spec']['replicas']} in {cluster}, not {targets[cluster]}"
        for count in COUNTS:
            sums[count] += (there.get("status") or {}).get(count, 0)
    told = {count: (template.get("status") or {}).get(count, 0) for count in COUNTS}
    if kind == "Deployment" and told != sums:
        yield f"{name}: the members sum up to {sums}, the template says {told}"


def _orphans(plane: Store, members: dict[str, Member], bindings: dict[str, Wire]) -> Iterator[str]:
    """What is there and belongs to nobody."""
    for path, work in _all(plane, WORKS).items():
        annotations = work["metadata"].get("annotations") or {}
        if names.BINDING_NAME not in annotations:
            continue  # a namespace's
        of = f"{annotations[names.BINDING_NAMESPACE]}/{annotations[names.BINDING_NAME]}"
        if of not in bindings:
            yield f"Work {path} is of {of}, which is not there"
    for cluster, member in members.items():
        for collection in KINDS:
            for path, wire in _all(member.store, collection).items():
                annotations = wire["metadata"].get("annotations") or {}
                if names.WORK_NAME not in annotations:
                    continue
                of = f"{annotations[names.WORK_NAMESPACE]}/{annotations[names.WORK_NAME]}"
                if plane.get(WORKS, of) is None:
                    yield f"{collection} {path} in {cluster} is of Work {of}, which is not there"


def _all(store: Store, collection: str) -> dict[str, Wire]:
    return {record.name: orjson.loads(record.value) for record in store.page(collection).records}


def _targets(binding: Wire) -> dict[str, int]:
    clusters = binding["spec"].get("clusters") or ()
    return {each["name"]: each.get("replicas", 0) for each in clusters}


def _owner(binding: Wire) -> str:
    owners = binding["metadata"].get("ownerReferences") or ()
    return next((each["uid"] for each in owners), "")
