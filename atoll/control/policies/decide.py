"""What to do about one policy, and which templates to look at again when it changes.

A policy that is being deleted lets go of all it holds before its finalizer is taken away; the
templates then find another policy or stay as they are. Everything else about a policy is decided
template by template, in `plan`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from atoll.dialects.karmada import names
from atoll.dialects.karmada.claims import claim_for, claim_of, is_going, released
from atoll.dialects.karmada.templates import CLUSTER_POLICY, closeness
from atoll.model.action import NOTHING, Object, Plan, Ref, Update
from atoll.model.resource_selector import Closeness


@dataclass(frozen=True, slots=True)
class SeenPolicy:
    """A policy, and the templates and bindings that carry its permanent id."""

    policy: Object | None
    templates: tuple[Object, ...] = ()
    bindings: tuple[Object, ...] = ()


def plan(seen: SeenPolicy) -> Plan:
    """Release everything a policy holds that is being deleted, and then the policy itself."""
    policy = seen.policy
    if policy is None or not is_going(policy):
        return NOTHING
    finalizers = policy["metadata"].get("finalizers") or []
    cluster_wide = policy.get("kind") == CLUSTER_POLICY
    ours = names.CLUSTER_POLICY_FINALIZER if cluster_wide else names.POLICY_FINALIZER
    if ours not in finalizers:
        return NOTHING
    held = (*claimed_by(policy, seen.bindings), *claimed_by(policy, seen.templates))
    kept = [each for each in finalizers if each != ours]
    freed = {**policy, "metadata": {**policy["metadata"], "finalizers": kept}}
    return Plan((*(Update(released(each)) for each in held), Update(freed)))


def claimed_by(policy: Object, objects: Iterable[Object]) -> tuple[Object, ...]:
    """Those templates or bindings that a policy holds and that are not on their way out."""
    claim = claim_for(policy)
    return tuple(
        each for each in objects if claim and claim_of(each) == claim and not is_going(each)
    )


def wakes(versions: Iterable[Object | None], templates: Iterable[Object]) -> tuple[Ref, ...]:
    """The templates to look at again after a policy came, changed or went."""
    policies = [each for each in versions if each is not None]
    return tuple(Ref.of(each) for each in templates if _concerns(policies, each))


def _concerns(policies: list[Object], template: Object) -> bool:
    claim = claim_of(template)
    if claim and claim in map(claim_for, policies):
        return True
    return any(closeness(each, template) > Closeness.NOT_MEANT for each in policies)
