"""Policies that have no effect, and why: their owners are told, once, after a moment.

Comes in: a policy, since when it is as it is, and what its selectors find. Goes out: an event on
it. A policy may well come before its templates; one that finds nothing for longer is often
mistyped, and one whose templates belong to others waits for ever. What is written in a policy and
does nothing here is told as well. Nothing is changed here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from atoll.control.policies.decide import claimed_by
from atoll.dialects.policy_source import Claims
from atoll.model.action import NOTHING, Plan, Ref, Tell
from atoll.model.policy import Policy
from atoll.model.resource_selector import ResourceSelector
from atoll.wire import Object

NOTHING_SELECTED, HELD_BY_OTHERS, IGNORED = "NothingSelected", "HeldByOthers", "FieldsIgnored"
MOMENT_S = 3.0
_NAMED = 3


@dataclass(frozen=True, slots=True)
class SeenPolicy:
    """A policy, and the templates its selectors find.

    Of the selectors, `unknown` are for kinds that are not there, `cluster_wide` for kinds without
    namespaces.
    """

    policy: Policy
    since: float
    claims: Claims
    found: Sequence[Object] = ()
    unknown: Sequence[ResourceSelector] = ()
    cluster_wide: Sequence[ResourceSelector] = ()


def plan(seen: SeenPolicy, now: float) -> Plan:
    """Tell the owner of a policy that holds nothing, unless that may only be a matter of time."""
    policy = seen.policy
    if policy.meta.is_going:
        return NOTHING
    if policy.own_template is not None or claimed_by(policy, seen.found, seen.claims):
        return _told(policy, IGNORED, "; ".join(policy.ignored)) if policy.ignored else NOTHING
    left = seen.since + MOMENT_S - now
    if left > 0:
        return Plan(again_in=left)
    if not seen.found:
        missing = [*(_missing(seen, each) for each in policy.selectors), *policy.ignored]
        said = f"this policy has no effect yet: {'; '.join(missing)}"
        return _told(policy, NOTHING_SELECTED, said)
    if not all(map(seen.claims.of, seen.found)):
        return NOTHING  # what keeps a template from being claimed is told on the template
    return _told(policy, HELD_BY_OTHERS, _held(seen))


def _told(policy: Policy, reason: str, message: str) -> Plan:
    return Plan((Tell(policy.wire, reason, message, warning=True),))


def _held(seen: SeenPolicy) -> str:
    """Whose the templates are."""
    found = seen.found
    named = [f"{Ref.of(each)} is held by {seen.claims.of(each)}" for each in found[:_NAMED]]
    more = [f"and {len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return (
        f"this policy has no effect: {', '.join([*named, *more])}; "
        "a policy keeps what it holds until it is deleted or selects it no more"
    )


def _missing(seen: SeenPolicy, selector: ResourceSelector) -> str:
    """What a selector looks for and does not find, as people say it."""
    kind, api = selector.kind, selector.api_version
    if selector in seen.unknown:
        return f"this plane has no kind {kind} of {api} to propagate"
    if seen.policy.meta.namespace and selector in seen.cluster_wide:
        return f"{kind} is a kind without namespaces, which only a cluster-wide policy selects"
    name = f" named {selector.name}" if selector.name else ""
    labels = " with such labels" if not name and selector.labels is not None else ""
    within = f" in namespace {selector.namespace}" if selector.namespace else ""
    return f"there is no {kind} of {api}{name}{labels}{within}"
