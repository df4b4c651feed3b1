"""Whom pods want beside them and whom not: required pod affinity, anti-affinity and even spreading.

The rules of a pod, pods that have a place and the labels of nodes come in; the nodes that are ruled
out go out, with the reason. Resources, taints and the labels a node must have are not known here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from atoll.dialects.kubernetes.selectors import label_selector
from atoll.model.selector import NOTHING, Selector
from atoll.wire import Wire

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
THEIR_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
SPREAD = "node(s) didn't match pod topology spread constraints"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Term:
    """Pods meant by one term, and the label of nodes that says what is beside what."""

    topology: str
    selector: Selector
    namespaces: frozenset[str] | None  # None: all of them
    max_skew: int = 0

    def means(self, namespace: str, labels: Mapping[str, str]) -> bool:
        inside = self.namespaces is None or namespace in self.namespaces
        return inside and self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class Rules:
    """What one pod asks of its neighbourhood."""

    near: tuple[Term, ...] = ()
    apart: tuple[Term, ...] = ()
    spread: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.near or self.apart or self.spread)


NO_RULES = Rules()


class Neighbour(NamedTuple):
    """A pod that has a place."""

    namespace: str
    labels: Mapping[str, str]
    node: str
    rules: Rules = NO_RULES


class Newcomer(NamedTuple):
    """A pod that looks for one."""

    namespace: str
    labels: Mapping[str, str]
    rules: Rules


def rules_of(spec: Wire, labels: Mapping[str, str], namespace: str) -> Rules:
    """The rules in a pod's spec."""
    affinity = spec.get("affinity") or {}
    return Rules(
        near=_terms(affinity.get("podAffinity") or {}, namespace),
        apart=_terms(affinity.get("podAntiAffinity") or {}, namespace),
        spread=tuple(
            Term(
                each["topologyKey"],
                _selector(each),
                frozenset({namespace}),
                max(1, int(each.get("maxSkew", 1))),
            )
            for each in spec.get("topologySpreadConstraints") or ()
            if each.get("whenUnsatisfiable") == "DoNotSchedule"
        ),
    )


def _terms(part: Wire, namespace: str) -> tuple[Term, ...]:
    return tuple(
        Term(each.get("topologyKey", ""), _selector(each), _namespaces(each, namespace))
        for each in part.get(_REQUIRED) or ()
    )


def _selector(wire: Wire) -> Selector:
    written = wire.get("labelSelector")
    return NOTHING if written is None else label_selector(written, "")


def _namespaces(term: Wire, own: str) -> frozenset[str] | None:
    """The namespaces a term is about. Of a selector for them only the empty one is understood."""
    if term.get("namespaceSelector") is not None:
        return None
    return frozenset(term.get("namespaces") or (own,))


def ruled_out(
    pod: Newcomer, others: Sequence[Neighbour], nodes: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """The nodes where this pod may not be because of its neighbours, and why."""
    found: dict[str, str] = {}
    for term in pod.rules.near:
        if not _is_first(pod, term, others):
            near = _domains(term, others, nodes)
            _rule_out(found, nodes, AFFINITY, lambda at, t=term, n=near: at.get(t.topology) in n)
    for term in pod.rules.apart:
        taken = _domains(term, others, nodes)
        _rule_out(
            found, nodes, ANTI_AFFINITY, lambda at, t=term, n=taken: at.get(t.topology) not in n
        )
    for other in others:
        for term in other.rules.apart:
            at = nodes.get(other.node, {}).get(term.topology)
            if at is not None and term.means(pod.namespace, pod.labels):
                _rule_out(
                    found,
                    nodes,
                    THEIR_ANTI_AFFINITY,
                    lambda on, t=term, n=at: on.get(t.topology) != n,
                )
    for term in pod.rules.spread:
        _rule_out_uneven(found, pod, term, others, nodes)
    return found


def _rule_out(found: dict[str, str], nodes: Mapping[str, Any], why: str, suits: Any) -> None:
    for name, labels in nodes.items():
        if name not in found and not suits(labels):
            found[name] = why


def _is_first(pod: Newcomer, term: Term, others: Iterable[Neighbour]) -> bool:
    """Whether a pod that wants to be near its like is the first of them."""
    return term.means(pod.namespace, pod.labels) and not any(
        term.means(each.namespace, each.labels) for each in others
    )


def _domains(
    term: Term, others: Iterable[Neighbour], nodes: Mapping[str, Mapping[str, str]]
) -> frozenset[str]:
    """Where pods are that a term means, by the label it goes by."""
    found = {
        nodes.get(each.node, {}).get(term.topology)
        for each in others
        if term.means(each.namespace, each.labels)
    }
    return frozenset(at for at in found if at is not None)


def _rule_out_uneven(
    found: dict[str, str],
    pod: Newcomer,
    term: Term,
    others: Iterable[Neighbour],
    nodes: Mapping[str, Mapping[str, str]],
) -> None:
    """Where one more would make the spread too uneven, or where it cannot be told."""
    counts = Counter({at: 0 for each in nodes.values() if (at := each.get(term.topology))})
    for each in others:
        at = nodes.get(each.node, {}).get(term.topology)
        if at is not None and term.means(each.namespace, each.labels):
            counts[at] += 1
    least = min(counts.values(), default=0)
    own = int(term.means(pod.namespace, pod.labels))

    def suits(labels: Mapping[str, str]) -> bool:
        at = labels.get(term.topology)
        return at is not None and counts[at] + own - least <= term.max_skew

    _rule_out(found, nodes, SPREAD, suits)
