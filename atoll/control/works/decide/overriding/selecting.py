"""Which rules of which policies apply to an object in a cluster, and in which order.

Override policies of either kind come in; rules go out, those that should win last. What a rule
changes is not known here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from atoll.control.works.decide.overriding.targeting import matches
from atoll.errors import Invalid
from atoll.model.cluster import Cluster
from atoll.model.policy import OverridePolicy, OverrideRule
from atoll.model.resource_selector import Closeness
from atoll.wire import Object


@dataclass(frozen=True, slots=True)
class Applied:
    """A rule of a policy that was carried out."""

    policy: OverridePolicy
    rule: OverrideRule


class Unsuitable(Invalid):
    """A policy cannot be carried out on this object: which one, and where it says so."""

    def __init__(self, policy: OverridePolicy, error: Invalid) -> None:
        super().__init__(f"{policy.ref}: {error.field}", error.value, error.problem)
        self.policy = policy


def in_order(policies: Iterable[OverridePolicy], resource: Object) -> list[OverridePolicy]:
    """The policies for this object: the closer one means it, the later; then by name."""
    ranked = [(each.closeness(resource), each.ref.name, each) for each in policies]
    meant = [each for each in ranked if each[0] > Closeness.NOT_MEANT]
    return [policy for _, _, policy in sorted(meant, key=lambda each: each[:2])]


def rules(policy: OverridePolicy, cluster: Cluster) -> Iterator[OverrideRule]:
    """The rules of a policy that are for this cluster, as written."""
    for rule in policy.rules:
        if rule.target is None or matches(rule.target, cluster):
            yield rule


def is_for(policy: OverridePolicy, cluster: Cluster) -> bool:
    """Whether a policy has a rule for a cluster; one that cannot be read is in the way in all."""
    return policy.problem is not None or next(rules(policy, cluster), None) is not None
