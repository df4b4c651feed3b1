"""Karmada's Placement becomes an intent, with Atoll's additions where a policy has any.

Every binding carries a copy of its policy's placement, so the same few come by again and again:
what is written alike is decoded once, and equal intents are one object. Decoding is as lenient as
Karmada's scheduler; what its admission refuses is `validation`'s business.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from atoll.dialects.karmada import additions, affinity, division
from atoll.dialects.kubernetes.tolerations import tolerations
from atoll.dialects.wire import Written, at, checked, part, parts, text
from atoll.model.affinity import Affinity, Term
from atoll.model.intent import Intent
from atoll.wire import Object

PLACEMENT = "spec.placement"


def decode(wire: Mapping[str, Any] | None, extra: Mapping[str, Any] | None = None) -> Intent:
    """What a placement wants; `extra` is what the policy has in `spec.atoll`."""
    return _decode(Written.of((wire, extra)))


@lru_cache(maxsize=4096)
def _decode(written: Written) -> Intent:
    wire, extra = written.wire
    intent = _intent({} if wire is None else checked(wire, PLACEMENT))
    return _shared(intent if extra is None else additions.add(intent, extra))


@lru_cache(maxsize=4096)
def _shared(intent: Intent) -> Intent:
    return intent


def _intent(wire: Object) -> Intent:
    strategy = part(wire, "replicaScheduling", PLACEMENT)
    spread = division.constraints(wire, PLACEMENT)
    here = at(PLACEMENT, "replicaScheduling")
    how = division.division(strategy, here)
    return Intent(
        terms=_terms(wire),
        tolerations=tolerations(wire, "clusterTolerations", PLACEMENT),
        spread=spread,
        selection=division.selection(strategy, spread, how),
        division=how,
        unused_weights=division.unused_weights(strategy, how, here),
    )


def _terms(wire: Object) -> tuple[Term, ...]:
    """The named terms; a single affinity beside them, which admission refuses, rules them all."""
    named = [_term(each, here) for here, each in parts(wire, "clusterAffinities", PLACEMENT)]
    single = part(wire, "clusterAffinity", PLACEMENT)
    if single is None:
        return tuple(named) or (Term(),)
    clusters = affinity.decode(single, at(PLACEMENT, "clusterAffinity"))
    if not named:
        return (Term(affinity=clusters),)
    return tuple(replace(each, affinity=clusters, overflow=()) for each in named)


def _term(wire: Object, path: str) -> Term:
    return Term(text(wire, "affinityName", path), affinity.decode(wire, path), _tiers(wire, path))


def _tiers(wire: Object, path: str) -> tuple[Affinity, ...]:
    tiers = []
    for here, each in parts(wire, "overflowAffinities", path):
        text(each, "affinityName", here)
        tiers.append(affinity.decode(each, here))
    return tuple(tiers)
