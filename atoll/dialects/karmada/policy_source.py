"""Karmada as a source of policies: a PropagationPolicy selects templates and claims them.

A claim is one label with the policy's permanent id, and annotations with its name. Nothing is told
in these kinds: who wants to know looks at the binding, or at the template.
"""

from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import kinds
from atoll.dialects.karmada.objects.policies import claim
from atoll.dialects.policy_source import PolicySource
from atoll.model.policy import Claim
from atoll.wire import Object

_LABELS = (names.POLICY_ID, names.CLUSTER_POLICY_ID)
_ANNOTATIONS = (names.POLICY_NAMESPACE, names.POLICY_NAME, names.CLUSTER_POLICY_NAME)


def claim_of(wire: Object) -> Claim | None:
    """The claim a template or binding carries, if it is complete."""
    metadata = wire.get("metadata") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    permanent_id = labels.get(names.POLICY_ID)
    namespace = annotations.get(names.POLICY_NAMESPACE)
    name = annotations.get(names.POLICY_NAME)
    if permanent_id and namespace and name:
        return claim(namespace, name, permanent_id)
    permanent_id = labels.get(names.CLUSTER_POLICY_ID)
    name = annotations.get(names.CLUSTER_POLICY_NAME)
    return claim("", name, permanent_id) if permanent_id and name else None


KARMADA = PolicySource(
    kinds=kinds.PROPAGATION_POLICIES,
    claim_of=claim_of,
    claim_keys=frozenset((*_LABELS, *_ANNOTATIONS)),
    awaited=tuple(each.key for each in kinds.OVERRIDE_POLICIES),
)
