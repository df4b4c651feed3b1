"""What plug-ins are asked about: one binding, under one term of its intent, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.model.affinity import Term
from atoll.model.assumed import Assumed
from atoll.model.binding import Binding
from atoll.model.intent import Duplicated, Field, Intent
from atoll.model.neighbour import Neighbour
from atoll.scheduling.features import USUAL, Features
from atoll.scheduling.nodes.view import NodeView
from atoll.scheduling.placed import NONE_PLACED, Placed


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """Facts of the moment that are neither the binding's nor a cluster's own.

    Neighbours in a group, room that is taken but not yet reported, and what estimators answered:
    by estimator, then by cluster, how many replicas would fit; below zero it does not know.
    `nodes` are those of clusters that are seen to the node.
    """

    neighbours: tuple[Neighbour, ...] = ()
    assumed: tuple[Assumed, ...] = ()
    estimates: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    nodes: NodeView | None = None


NOWHERE = Surroundings()


@dataclass(slots=True, eq=False)
class Question:
    """Where should this go, under the term at this place among the intent's terms?

    Never changed; not frozen, because every plug-in asks it, and it is made for every decision.
    """

    binding: Binding
    place: int = 0
    placed: Placed = NONE_PLACED
    features: Features = USUAL
    surroundings: Surroundings = NOWHERE
    intent: Intent = field(init=False)
    term: Term = field(init=False)

    def __post_init__(self) -> None:
        self.intent = self.binding.intent
        self.term = self.intent.terms[self.place]

    @property
    def counts_sets(self) -> bool:
        """Whether a cluster must hold all components, so that sets are counted, not replicas."""
        if not (self.features.MultiplePodTemplatesScheduling and self.binding.components):
            return False
        return any(
            each.field is Field.CLUSTER and each.least == each.most == 1
            for each in self.intent.spread
        )

    @property
    def needed(self) -> int | None:
        """How many replicas the selected clusters must have room for together; None: no matter."""
        if isinstance(self.intent.division, Duplicated):
            return None
        return 1 if self.counts_sets else self.binding.replicas
