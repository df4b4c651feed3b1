"""A decision that is being written, and how it is known again once it is stored."""

from dataclasses import dataclass

from atoll.control.scheduler.decide.ledger import Holding
from atoll.control.scheduler.decide.plan import Placing
from atoll.dialects.karmada.standing import MARK
from atoll.model.resource_binding import ResourceBinding
from atoll.wire import Object


@dataclass(frozen=True, slots=True)
class InFlight:
    """What came of a turn and is being written. `held` is what the binding held before, to be
    held again if it is not written.
    """

    placing: Placing
    wire: Object
    """The binding as it is being written."""
    held: Holding
    since: float
    began: float
    facts: int
    """How often the facts of clusters had changed when it was decided."""

    def is_of(self, binding: ResourceBinding) -> bool:
        """Whether a binding is stored as it was to be written."""
        return _decided(binding.wire) == _decided(self.wire)


def _decided(wire: Object) -> tuple[object, object]:
    """Where a binding goes, and the mark of the decision by which it does."""
    annotations = wire["metadata"].get("annotations") or {}
    return wire["spec"].get("clusters"), annotations.get(MARK)
