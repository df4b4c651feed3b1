"""The taints of a cluster: those of its condition, and those that ClusterTaintPolicies ask for.

Comes in: a Cluster and the policies there are. Goes out: at most one write of its taints. A taint
that neither its condition nor a policy says anything about is somebody else's and stays as it is;
one that is there stays as it is too, with the time since which it counts. What a taint does to
work that does not tolerate it is not known here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atoll.control.works.decide.overriding.targeting import matches
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects.encoding import patched
from atoll.dialects.kubernetes.conditions import find
from atoll.dialects.wire import written_time
from atoll.errors import Invalid
from atoll.model.action import NOTHING, Plan, Tell, Update
from atoll.model.member import Member
from atoll.model.policy import ClusterTaintPolicy, ConditionIs
from atoll.model.taint import Effect
from atoll.wire import Object

TAINTED, NOT_TAINTED = "TaintClusterSucceed", "TaintClusterFailed"

Mark = tuple[str, str]
"""By what a taint is known: its key and its effect."""
_NOT_READY: Mark = (names.NOT_READY, Effect.NO_SCHEDULE)
_UNREACHABLE: Mark = (names.UNREACHABLE, Effect.NO_SCHEDULE)
_BY_CONDITION: Mapping[str, Mark | None] = {
    "True": None,
    "False": _NOT_READY,
    "Unknown": _UNREACHABLE,
}


@dataclass(frozen=True, slots=True)
class SeenCluster:
    """A Cluster, and ClusterTaintPolicies; those that do not mean it are passed over."""

    cluster: Member
    policies: Sequence[ClusterTaintPolicy] = ()


def plan(seen: SeenCluster, now: float) -> Plan:
    """Give a cluster the taints that follow from how it is, and take away those that do not."""
    cluster = seen.cluster
    if cluster.meta.is_going or cluster.problem is not None:
        return NOTHING
    found, before = cluster.conditions, list(cluster.spec.taints)
    wanted: dict[Mark, Object] = {_mark(each): each for each in before}
    _follow_condition(wanted, found, now)
    meaning = (each for each in seen.policies if means(each, cluster))
    for policy in sorted(meaning, key=_age):
        _follow_policy(wanted, policy, found, now)
    kept = [each for each in before if _mark(each) in wanted]
    known = {_mark(each) for each in before}
    after = kept + [taint for mark, taint in wanted.items() if mark not in known]
    if after == before:
        return NOTHING
    told = Tell(cluster.wire, TAINTED, f"Taint cluster succeed: {_said(after)}.")
    return Plan((Update(patched(cluster.wire, {"spec": {"taints": after}})), told))


def _follow_condition(wanted: dict[Mark, Object], found: Sequence[Object], now: float) -> None:
    """A cluster of which nothing is known yet is not ready; what it was before stays."""
    ready = find(found, "Ready")
    mark = _NOT_READY if ready is None else _BY_CONDITION.get(ready.get("status", ""), _UNREACHABLE)
    for each in (_NOT_READY, _UNREACHABLE):
        if each == mark:
            _add(wanted, {"key": each[0], "effect": each[1]}, now)
        elif ready is not None:
            wanted.pop(each, None)


def _follow_policy(
    wanted: dict[Mark, Object], policy: ClusterTaintPolicy, found: Sequence[Object], now: float
) -> None:
    """Add, and then remove: where both are asked for, the taints go."""
    if _holds(policy.adds_on, found):
        for taint in policy.taints:
            _add(wanted, taint, now)
    if _holds(policy.removes_on, found):
        for taint in policy.taints:
            wanted.pop(_mark(taint), None)


def _add(wanted: dict[Mark, Object], taint: Mapping[str, Any], now: float) -> None:
    written = {key: str(taint[key]) for key in ("key", "value", "effect") if taint.get(key)}
    wanted.setdefault(_mark(taint), {**written, "timeAdded": written_time(now)})


def _holds(asked: Sequence[ConditionIs], found: Sequence[Object]) -> bool:
    """Whether all that is asked holds; nothing asked holds never, nor does what is not known."""
    return bool(asked) and all(_is_met(each, found) for each in asked)


def _is_met(asked: ConditionIs, found: Sequence[Object]) -> bool:
    condition = find(found, asked.type)
    return condition is not None and (condition.get("status") in asked.among) is asked.is_among


def means(policy: ClusterTaintPolicy, member: Member) -> bool:
    """Whether a policy means a cluster; one that says what cannot be means none."""
    cluster = member.cluster()
    if isinstance(cluster, Invalid) or policy.problem is not None:
        return False
    return policy.target is None or matches(policy.target, cluster)


def _age(policy: ClusterTaintPolicy) -> tuple[float, str]:
    """The oldest first, so that what several say of one taint is the same every time."""
    return policy.meta.created or 0.0, policy.meta.name


def _mark(taint: Mapping[str, Any]) -> Mark:
    return taint.get("key", ""), taint.get("effect", "")


def _said(taints: Sequence[Object]) -> str:
    """The taints as Karmada tells them."""
    if not taints:
        return "cluster now does not have taints"
    fields = (("Key", "key"), ("Value", "value"), ("Effect", "effect"))
    listed = [
        ",".join(f"{name}:{taint[key]}" for name, key in fields if taint.get(key))
        for taint in taints
    ]
    return f"cluster now has taints([{','.join(f'{{{each}}}' for each in listed)}])"
