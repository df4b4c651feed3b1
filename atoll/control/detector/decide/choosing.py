"""Which policy a template belongs to, among all that select it.

Who holds a template keeps it while it exists and selects it: a better policy that comes later does
not move running workloads, unless it may preempt and has strictly the higher priority (a namespaced
policy may preempt any cluster-wide one). So a claim only ever rises, and policies that fight end.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from atoll.dialects.karmada.claims import Claim, claim_for, claim_of, is_going
from atoll.dialects.karmada.templates import POLICY, closeness
from atoll.model.action import Object
from atoll.model.resource_selector import Closeness


@dataclass(frozen=True, slots=True)
class Choice:
    """The policy a template belongs to, and from which one it was taken by preemption.

    `rivals`: others that select it too, and come to nothing.
    """

    policy: Object
    claim: Claim
    taken_from: Claim | None = None
    rivals: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    policy: Object
    claim: Claim
    closeness: Closeness

    @property
    def priority(self) -> int:
        return (self.policy.get("spec") or {}).get("priority") or 0

    @property
    def rank(self) -> tuple[bool, int, int, str]:
        """Namespaced first, then the higher priority, the closer selector, the earlier name."""
        return self.claim.kind != POLICY, -self.priority, -self.closeness, self.claim.name


def choose(
    template: Object,
    policies: Iterable[Object],
    *,
    preemption: bool = False,
    ready: Callable[[Object], bool] = lambda policy: True,
) -> Choice | None:
    """The policy a template belongs to; one that is not ready takes nothing from another."""
    candidates = sorted(_candidates(template, policies), key=lambda each: each.rank)
    current = claim_of(template)
    holder = next((each for each in candidates if each.claim == current), None)
    if holder is None:
        return _chosen(candidates[0], candidates) if candidates else None
    if preemption:
        for each in candidates:
            if _may_take(each, holder) and ready(each.policy):
                return _chosen(each, candidates, taken_from=holder.claim)
    return _chosen(holder, candidates)


def _chosen(
    chosen: _Candidate, candidates: list[_Candidate], taken_from: Claim | None = None
) -> Choice:
    rivals = tuple(each.claim for each in candidates if each is not chosen)
    return Choice(chosen.policy, chosen.claim, taken_from, rivals)


def _candidates(template: Object, policies: Iterable[Object]) -> Iterable[_Candidate]:
    for policy in policies:
        claim = claim_for(policy)
        if claim is None or is_going(policy):
            continue
        meant = closeness(policy, template)
        if meant > Closeness.NOT_MEANT:
            yield _Candidate(policy, claim, meant)


def _may_take(challenger: _Candidate, holder: _Candidate) -> bool:
    if (challenger.policy.get("spec") or {}).get("preemption") != "Always":
        return False
    if challenger.claim.kind == holder.claim.kind:
        return challenger.priority > holder.priority
    return challenger.claim.kind == POLICY
