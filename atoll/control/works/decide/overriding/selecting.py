"""Which rules of which policies apply to an object in a cluster, and in which order.

Policies (OverridePolicy or ClusterOverridePolicy objects) come in; rules go out, those that should
win last. What a rule changes is not known here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from atoll.control.works.decide.overriding.targeting import matches
from atoll.dialects.karmada import affinity
from atoll.dialects.karmada.templates import closeness
from atoll.dialects.wire import Wire, at, part, parts
from atoll.errors import Invalid
from atoll.model.action import Object, Ref
from atoll.model.cluster import Cluster
from atoll.model.resource_selector import Closeness


@dataclass(frozen=True, slots=True)
class Rule:
    """What a policy changes in a cluster; `path` is where it says so."""

    policy: Object
    overriders: Wire
    path: str


class Unsuitable(Invalid):
    """A policy cannot be carried out on this object: which one, and where it says so."""

    def __init__(self, policy: Object, error: Invalid) -> None:
        super().__init__(f"{Ref.of(policy)}: {error.field}", error.value, error.problem)
        self.policy = Ref.of(policy)
        self.written = policy


def selects(policy: Object, resource: Object) -> bool:
    """Is this object among those the policy is for?"""
    return _closeness(policy, resource) > Closeness.NOT_MEANT


def in_order(policies: Iterable[Object], resource: Object) -> list[Object]:
    """The policies for this object: the closer one means it, the later; then by name."""
    ranked = [(_closeness(each, resource), Ref.of(each).name, each) for each in policies]
    meant = [each for each in ranked if each[0] > Closeness.NOT_MEANT]
    return [policy for _, _, policy in sorted(meant, key=lambda each: each[:2])]


def rules(policy: Object, cluster: Cluster) -> Iterator[Rule]:
    """The rules of a policy that are for this cluster, as written."""
    spec = part(policy, "spec", "") or {}
    written = list(parts(spec, "overrideRules", "spec")) or [("spec", spec)]
    for here, each in written:
        target = part(each, "targetCluster", here)
        there = at(here, "targetCluster")
        if target is None or matches(affinity.decode(target, there), cluster):
            yield Rule(policy, part(each, "overriders", here) or {}, at(here, "overriders"))


def _closeness(policy: Object, resource: Object) -> Closeness:
    """As of other policies, but one that selects nothing in particular is for everything."""
    if not (policy.get("spec") or {}).get("resourceSelectors"):
        return Closeness.KIND
    return closeness(policy, resource)
