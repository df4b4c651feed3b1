"""Policies that hold nothing, and why: their owners are told, once, after a moment.

Comes in: a policy, since when it is as it is, and what its selectors find. Goes out: an event on
it. A policy may well come before its templates; one that finds nothing for longer is often
mistyped, and one whose templates belong to others waits for ever. Nothing is changed here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from atoll.control.policies.decide import claimed_by
from atoll.dialects.karmada.claims import claim_of, is_going
from atoll.dialects.karmada.templates import CLUSTER_POLICY, POLICY
from atoll.model.action import NOTHING, Object, Plan, Ref, Tell

NOTHING_SELECTED, HELD_BY_OTHERS = "NothingSelected", "HeldByOthers"
MOMENT_S = 3.0
_NAMED = 3


@dataclass(frozen=True, slots=True)
class SeenPolicy:
    """A policy, and the templates its selectors find.

    Of the selectors, `unknown` are for kinds that are not there, `cluster_wide` for kinds without
    namespaces.
    """

    policy: Object
    since: float
    found: Sequence[Object] = ()
    unknown: Sequence[Object] = ()
    cluster_wide: Sequence[Object] = ()


def plan(seen: SeenPolicy, now: float) -> Plan:
    """Tell the owner of a policy that holds nothing, unless that may only be a matter of time."""
    if is_going(seen.policy) or claimed_by(seen.policy, seen.found):
        return NOTHING
    left = seen.since + MOMENT_S - now
    if left > 0:
        return Plan(again_in=left)
    if not seen.found:
        return Plan((Tell(seen.policy, NOTHING_SELECTED, _nothing(seen), warning=True),))
    if not all(map(claim_of, seen.found)):
        return NOTHING  # what keeps a template from being claimed is told on the template
    return Plan((Tell(seen.policy, HELD_BY_OTHERS, _held(seen.found), warning=True),))


def _held(found: Sequence[Object]) -> str:
    """Whose the templates are."""
    named = [f"{Ref.of(each)} is held by {claim_of(each)}" for each in found[:_NAMED]]
    more = [f"and {len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return (
        f"this policy has no effect: {', '.join([*named, *more])}; "
        "a policy keeps what it holds until it is deleted or selects it no more"
    )


def _nothing(seen: SeenPolicy) -> str:
    selectors = (seen.policy.get("spec") or {}).get("resourceSelectors") or ()
    return f"this policy has no effect yet: {'; '.join(_missing(seen, each) for each in selectors)}"


def _missing(seen: SeenPolicy, selector: Object) -> str:
    """What a selector looks for and does not find, as people say it."""
    kind, api = selector.get("kind", ""), selector.get("apiVersion", "")
    if selector in seen.unknown:
        return f"this plane has no kind {kind} of {api} to propagate"
    own = seen.policy["metadata"].get("namespace") if seen.policy.get("kind") == POLICY else ""
    if own and selector in seen.cluster_wide:
        return f"{kind} is a kind without namespaces, which only a {CLUSTER_POLICY} selects"
    where = selector.get("namespace") or own
    if own and where != own:
        return f"a {POLICY} selects nothing outside its own namespace, as in {where}"
    name = f" named {selector['name']}" if selector.get("name") else ""
    labels = " with such labels" if not name and selector.get("labelSelector") else ""
    within = f" in namespace {where}" if where else ""
    return f"there is no {kind} of {api}{name}{labels}{within}"
