"""A dialect with the template inside: a WrappedDeployment says what runs, and in which clusters.

There is no Deployment in the plane. What became of it is told in the status, cluster by cluster.
"""

from collections.abc import Iterator, Sequence

from atoll.dialects.karmada import names
from atoll.dialects.kind import Kind
from atoll.dialects.kubernetes import metadata
from atoll.dialects.policy_source import Find, PolicySource
from atoll.dialects.wire import checked, part, texts
from atoll.errors import Invalid
from atoll.model.action import Action, Ref, Update
from atoll.model.policy import Claim, Policy
from atoll.model.resource_binding import ResourceBinding
from atoll.wire import Object

API_VERSION, WRAPPED = "wrapped.example.org/v1", "WrappedDeployment"
WRAPPED_IN = "wrapped.example.org/name"


def decode(wire: Object, before: Policy | None = None) -> Policy:
    meta = metadata.decode(wire)
    own = {"namespace": meta.namespace, "name": meta.name}
    template = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": own}
    claim = _claim(meta.namespace, meta.name)
    try:
        spec = checked(wire.get("spec") or {}, "spec")
        inside = part(spec, "template", "spec") or {}
        clusters = texts(spec, "clusters", "spec")
    except Invalid as problem:
        return Policy(wire, meta, claim, carries=template, problem=problem)
    return Policy(
        wire,
        meta,
        claim,
        carries={**template, "spec": inside.get("spec") or {}},
        asks={"placement": {"clusterAffinity": {"clusterNames": list(clusters)}}},
        ignored=("spec.overrides does nothing",) if "overrides" in spec else (),
    )


def _claim(namespace: str, name: str) -> Claim:
    ref = Ref(API_VERSION, WRAPPED, namespace, name)
    return Claim(ref, ((names.BINDING_MANAGED_BY, "wrapped"),), ((WRAPPED_IN, name),))


def claim_of(wire: Object) -> Claim | None:
    name = (wire["metadata"].get("annotations") or {}).get(WRAPPED_IN)
    return _claim(wire["metadata"].get("namespace", ""), name) if name else None


def report(
    policy: Policy, bindings: Sequence[ResourceBinding], find: Find, now: float
) -> Iterator[Action]:
    told = [each for binding in bindings for each in binding.status.aggregated]
    clusters = [{"name": each["clusterName"], "health": each["health"]} for each in told]
    status = {"clusters": clusters}
    if policy.wire.get("status") != status:
        yield Update({**policy.wire, "status": status}, subresource="status")


WRAPPED_DEPLOYMENTS = PolicySource(
    kinds=(Kind(API_VERSION, WRAPPED, decode),),
    claim_of=claim_of,
    claim_keys=frozenset({names.BINDING_MANAGED_BY, WRAPPED_IN}),
    report=report,
)
