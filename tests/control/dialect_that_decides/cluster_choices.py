"""A dialect that only decides: a ClusterChoice asks for some clusters, and nothing is sent there.

Which ones is told in a ClusterChoiceResult of its name, and how many in its own status.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from atoll.dialects.karmada import names
from atoll.dialects.kind import Kind
from atoll.dialects.kubernetes import metadata
from atoll.dialects.policy_source import Find, PolicySource
from atoll.dialects.wire import checked, number, part
from atoll.errors import Invalid
from atoll.model.action import Action, Create, Ref, Update
from atoll.model.policy import Claim, Policy
from atoll.model.resource_binding import ResourceBinding
from atoll.wire import Object

API_VERSION, CHOICE, RESULT = "choices.example.org/v1", "ClusterChoice", "ClusterChoiceResult"
CHOSEN_BY = "choices.example.org/choice"


def decode(wire: Object, before: Policy | None = None) -> Policy:
    meta = metadata.decode(wire)
    claim = _claim(meta.namespace, meta.name)
    try:
        spec = checked(wire.get("spec") or {}, "spec")
        select = {"maxClusters": number(spec, "count", "spec"), "whenShort": "Partial"}
        labels = {"matchLabels": part(spec, "labels", "spec") or {}}
        asks = {
            "placement": {"clusterAffinity": {"labelSelector": labels}},
            "atoll": {"select": select},
        }
    except Invalid as problem:
        return Policy(wire, meta, claim, only_decides=True, problem=problem)
    ignored = ("spec.sortBy does nothing: clusters are sorted by score and name",)
    return Policy(
        wire, meta, claim, only_decides=True, asks=asks, ignored=ignored if "sortBy" in spec else ()
    )


def _claim(namespace: str, name: str) -> Claim:
    ref = Ref(API_VERSION, CHOICE, namespace, name)
    return Claim(ref, ((names.BINDING_MANAGED_BY, "choices"),), ((CHOSEN_BY, name),))


def claim_of(wire: Object) -> Claim | None:
    name = (wire["metadata"].get("annotations") or {}).get(CHOSEN_BY)
    return _claim(wire["metadata"].get("namespace", ""), name) if name else None


def report(
    policy: Policy, bindings: Sequence[ResourceBinding], find: Find, now: float
) -> Iterator[Action]:
    chosen = sorted(target.name for each in bindings for target in each.targets)
    there = find(Ref(API_VERSION, RESULT, policy.meta.namespace, policy.meta.name))
    if there is None:
        yield Create(_result(policy, chosen))
    elif there["clusters"] != chosen:
        yield Update({**there, "clusters": chosen})
    status = {"chosen": len(chosen)}
    if policy.wire.get("status") != status:
        yield Update({**policy.wire, "status": status}, subresource="status")


def _result(policy: Policy, chosen: list[str]) -> dict[str, Any]:
    owner = {"apiVersion": API_VERSION, "kind": CHOICE, "name": policy.meta.name}
    return {
        "apiVersion": API_VERSION,
        "kind": RESULT,
        "metadata": {
            "namespace": policy.meta.namespace,
            "name": policy.meta.name,
            "ownerReferences": [{**owner, "uid": policy.meta.uid}],
        },
        "clusters": chosen,
    }


CHOICES = PolicySource(
    kinds=(Kind(API_VERSION, CHOICE, decode),),
    claim_of=claim_of,
    claim_keys=frozenset({names.BINDING_MANAGED_BY, CHOSEN_BY}),
    told_in=((API_VERSION, RESULT),),
    report=report,
)
