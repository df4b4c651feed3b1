"""What the scheduler knows of the moment around a binding, for itself and all others who ask it.

Built by whoever runs the scheduler, over its ledger and the bindings it is writing; found by the
others in the hub. What becomes of these facts is known to `decide.surroundings`.
"""

from collections.abc import Mapping
from dataclasses import replace

from atoll.control.hub import BINDING, Hub
from atoll.control.scheduler.decide import surroundings
from atoll.control.scheduler.decide.ledger import Ledger
from atoll.model.action import Object, Ref
from atoll.scheduling.question import Surroundings


class AroundBindings:
    """Looks around bindings: `Around`, as the hub has it."""

    def __init__(self, hub: Hub, ledger: Ledger[Ref], writing: Mapping[Ref, Object]) -> None:
        """`writing`: bindings as they are being written, which others see so meanwhile."""
        self._hub = hub
        self._ledger = ledger
        self._writing = writing

    def of(self, binding: Object) -> Surroundings:
        hub = self._hub
        nodes = hub.nodes.view(hub.fleet, hub.now)
        others = self._neighbours(binding)
        return surroundings.surroundings(binding, others, self._ledger.assumed(), nodes)

    def anew(self, binding: Object) -> Surroundings:
        around = self.of(binding)
        own = self._ledger.held(Ref.of(binding))
        return replace(around, assumed=surroundings.of_others(around.assumed, own))

    def _neighbours(self, binding: Object) -> list[Object]:
        """The bindings of its namespace that it may want to be with, or apart from."""
        if not (self._hub.features.WorkloadAffinity and _grouped_in(binding)):
            return []
        key = Ref.of(binding)
        mirror = self._hub.plane.mirror(self._hub.plane.collection(BINDING, key.kind))
        wires = mirror.by(_grouped_in, key.namespace)
        return [self._writing.get(Ref.of(each), each) for each in wires]


def _grouped_in(binding: Object) -> list[str]:
    """The namespace in which a binding is part of a group; nothing if it is of none."""
    grouped = (binding.get("spec") or {}).get("workloadAffinityGroups")
    return [binding["metadata"].get("namespace", "")] if grouped else []
