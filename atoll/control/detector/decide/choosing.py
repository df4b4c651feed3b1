"""Which policy a template belongs to, among all that select it.

Who holds a template keeps it while it exists and selects it: a better policy that comes later does
not move running workloads, unless it may preempt and has strictly the higher priority (a namespaced
policy may preempt any cluster-wide one). So a claim only ever rises, and policies that fight end.
Nobody takes a template from a policy of another dialect.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from atoll.model.action import Ref
from atoll.model.policy import Claim, Policy
from atoll.model.resource_selector import Closeness
from atoll.wire import Object


@dataclass(frozen=True, slots=True)
class Choice:
    """The policy a template belongs to, and from which one it was taken by preemption.

    `rivals`: others that select it too, and come to nothing.
    """

    policy: Policy
    claim: Claim
    taken_from: Claim | None = None
    rivals: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    policy: Policy
    claim: Claim
    closeness: Closeness

    @property
    def is_wide(self) -> bool:
        return not self.policy.meta.namespace

    @property
    def rank(self) -> tuple[bool, int, int, str, Ref]:
        """Namespaced first, then the higher priority, the closer selector, the earlier name."""
        ref = self.policy.ref
        return self.is_wide, -self.policy.priority, -self.closeness, ref.name, ref


def choose(
    template: Object,
    policies: Iterable[Policy],
    current: Claim | None,
    *,
    preemption: bool = False,
    ready: Callable[[Policy], bool] = lambda policy: True,
) -> Choice | None:
    """The policy a template belongs to; one that is not ready takes nothing from another.

    `current`: the claim that the template carries.
    """
    candidates = sorted(_candidates(template, policies), key=lambda each: each.rank)
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


def _candidates(template: Object, policies: Iterable[Policy]) -> Iterable[_Candidate]:
    for policy in policies:
        if policy.claim is None or policy.meta.is_going:
            continue
        meant = policy.closeness(template)
        if meant > Closeness.NOT_MEANT:
            yield _Candidate(policy, policy.claim, meant)


def _may_take(challenger: _Candidate, holder: _Candidate) -> bool:
    mine, theirs = challenger.policy, holder.policy
    if not mine.preempts or mine.ref.api_version != theirs.ref.api_version:
        return False
    if challenger.is_wide == holder.is_wide:
        return mine.priority > theirs.priority
    return holder.is_wide
