"""What would come of placing workloads anew: the scheduler's own turns, played on what it knows.

What the scheduler knows at one moment comes in, and then the bindings that are to be placed anew,
one after the other; what it would do about each goes out. Nothing is written, and the scheduler
hears nothing of it. Whoever drives a turn answers for estimators, and may let others go first
wherever a turn asks for nothing.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import TypeVar

from atoll.control.scheduler.decide import surroundings
from atoll.control.scheduler.decide.events import Ask
from atoll.control.scheduler.decide.inquiring import Answer, Answers, inquiry
from atoll.control.scheduler.decide.ledger import Ledger
from atoll.control.scheduler.decide.plan import Placing, SeenBinding, plan
from atoll.dialects.karmada.objects.encoding import patched
from atoll.dialects.karmada.objects.resource_bindings import decode
from atoll.dialects.karmada.standing import healthy_in
from atoll.dialects.wire import written_time
from atoll.model.action import Ref
from atoll.model.resource_binding import ResourceBinding
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.nodes.view import NodeView
from atoll.scheduling.setting import Setting

T = TypeVar("T")
Turns = Generator[Ask | None, Mapping[str, Answer], T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What the scheduler knew at a moment, and what has been played since."""

    now: float
    fleet: Fleet
    setting: Setting
    bindings: dict[Ref, ResourceBinding]
    grouped: Mapping[surroundings.Groups, tuple[Ref, ...]]
    """By groups, the bindings that share one of them."""
    ledger: Ledger[Ref]
    nodes: NodeView
    asks_estimators: bool = False
    _answers: Answers = field(default_factory=Answers)

    def copy(self) -> "Rehearsal":
        """One in which the same has been played, and may go on otherwise."""
        return replace(self, bindings={**self.bindings}, ledger=self.ledger.copy())

    def anew(self, key: Ref) -> Turns[Placing]:
        """What the scheduler would do about a binding if it were asked to place it anew."""
        binding = self.bindings[key]
        # In whole seconds: who was decided within this one can be asked for from the next one on.
        wish = {"spec": {"rescheduleTriggeredAt": written_time(self.now + 1)}}
        near = self.grouped.get(surroundings.groups(binding), ())
        others = (self.bindings[each] for each in near)
        around = surroundings.surroundings(binding, others, self.ledger.assumed(), self.nodes)
        seen = SeenBinding(
            binding=decode(patched(binding.wire, wish), binding),
            fleet=self.fleet,
            setting=self.setting,
            surroundings=around,
        )
        placing, answers = plan(seen, self.now), dict[str, int]()
        yield None
        while self.asks_estimators and (asked := inquiry(placing.decision, answers)) is not None:
            missing = self._answers.missing(asked, -inf)
            if missing.clusters:
                self._answers.note(missing, (yield Ask(key, missing, around.assumed)), self.now)
            answers |= self._answers.known(asked, around.assumed)
            estimated = surroundings.with_estimates(around, answers)
            placing = plan(replace(seen, surroundings=estimated), self.now)
        return placing

    def take(self, key: Ref, placing: Placing) -> None:
        """Have it done: those who are placed after it find it so."""
        binding, written = self.bindings[key], placing.binding
        if placing.decision is not None and written is not None:
            self.ledger.assume(key, placing.decision, healthy_in(binding.wire), self.now)
            self.bindings[key] = decode(written, binding)
