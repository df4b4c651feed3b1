"""What to do about one policy, and which templates to look at again when it changes.

A policy that is being deleted lets go of all it holds before its finalizer is taken away; the
templates then find another policy or stay as they are. Until then it is told, where its dialect has
a place for that, what became of its bindings. Everything else about a policy is decided template by
template, by the detector.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from atoll.dialects.policy_source import Claims, Find, Report, is_going
from atoll.model.action import NOTHING, Plan, Ref, Update
from atoll.model.policy import Policy
from atoll.model.resource_binding import ResourceBinding
from atoll.model.resource_selector import Closeness
from atoll.wire import Object


@dataclass(frozen=True, slots=True)
class SeenPolicy:
    """A policy, and the templates and bindings that carry its claim.

    `report`: what its dialect tells of them, if it does; `find`: what stands there by now.
    """

    policy: Policy
    claims: Claims
    templates: Sequence[Object] = ()
    bindings: Sequence[ResourceBinding] = ()
    report: Report | None = None
    find: Find = lambda _: None


def plan(seen: SeenPolicy, now: float) -> Plan:
    """Release everything a policy holds that is being deleted, and then the policy itself."""
    policy = seen.policy
    if not policy.meta.is_going:
        report = seen.report
        return Plan(() if report is None else tuple(report(policy, seen.bindings, seen.find, now)))
    if policy.finalizer not in policy.meta.finalizers:
        return NOTHING
    holding = (*(each.wire for each in seen.bindings), *seen.templates)
    held = claimed_by(policy, holding, seen.claims)
    kept = [each for each in policy.meta.finalizers if each != policy.finalizer]
    freed = {**policy.wire, "metadata": {**policy.wire["metadata"], "finalizers": kept}}
    return Plan((*(Update(seen.claims.released(each)) for each in held), Update(freed)))


def claimed_by(policy: Policy, objects: Iterable[Object], claims: Claims) -> tuple[Object, ...]:
    """Those templates or bindings that a policy holds and that are not on their way out."""
    claim = policy.claim
    return tuple(
        each for each in objects if claim and claims.of(each) == claim and not is_going(each)
    )


def wakes(
    versions: Iterable[Policy | None], templates: Iterable[Object], claims: Claims
) -> tuple[Ref, ...]:
    """The templates to look at again after a policy came, changed or went."""
    policies = [each for each in versions if each is not None]
    return tuple(Ref.of(each) for each in templates if _concerns(policies, each, claims))


def _concerns(policies: list[Policy], template: Object, claims: Claims) -> bool:
    claim = claims.of(template)
    if claim and claim in [each.claim for each in policies]:
        return True
    return any(each.closeness(template) > Closeness.NOT_MEANT for each in policies)
