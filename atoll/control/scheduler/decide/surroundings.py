"""What is around a binding when it is asked where it goes: the one builder for all who ask.

The binding and the facts of the moment come in: those that share its groups, work that is on its
way to clusters, what nodes and estimators say. What a decision is made from goes out. Who knows
these facts, and when they are looked up, is not known here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from atoll.control.scheduler.decide.inquiring import ESTIMATOR
from atoll.control.scheduler.decide.ledger import Held, Holding
from atoll.dialects.karmada.binding import neighbour
from atoll.dialects.karmada.preemption_notes import given_away
from atoll.model.assumed import Assumed, merged
from atoll.model.demand import Component
from atoll.model.resource_binding import ResourceBinding
from atoll.scheduling.nodes.view import NodeView
from atoll.scheduling.question import Surroundings

Groups = tuple[tuple[str, str], ...]


def groups(binding: ResourceBinding) -> Groups:
    """The groups, in its namespace, that a binding wants to be with or apart from."""
    return tuple((binding.ref.namespace, each) for each in binding.spec.groups)


def surroundings(
    binding: ResourceBinding,
    others: Iterable[ResourceBinding],
    assumed: tuple[Assumed, ...],
    nodes: NodeView,
) -> Surroundings:
    """The surroundings of a binding, before any estimator is asked.

    `others` are the bindings it may want to be with or apart from; `assumed`, what was given away.
    """
    neighbours = tuple(neighbour(each.wire) for each in others)
    return Surroundings(neighbours, assumed, given_away(binding.wire), nodes)


def with_estimates(around: Surroundings, answers: Mapping[str, int]) -> Surroundings:
    """The same, where estimators have said how much fits, by cluster."""
    return replace(around, estimates={**around.estimates, ESTIMATOR: answers})


def of_others(assumed: Iterable[Assumed], own: Holding) -> tuple[Assumed, ...]:
    """What was given away to others than the one that holds this."""
    return tuple(
        Assumed(each.cluster, _without(each.components, own[each.cluster]))
        if each.cluster in own
        else each
        for each in assumed
    )


def _without(components: Sequence[Component], held: Held) -> tuple[Component, ...]:
    left = (
        replace(each, replicas=each.replicas - held.amounts.get(each.demand, 0))
        for each in merged(components)
    )
    return tuple(each for each in left if each.replicas > 0)
