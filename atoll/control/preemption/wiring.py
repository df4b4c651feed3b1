"""Bindings that give way to others, and those they give way to."""

from functools import partial

from atoll.control.hub import Hub, spec_changed
from atoll.control.loop import Controller, Loop
from atoll.control.preemption import decide as giving_way
from atoll.dialects.karmada.preemption_notes import GAVE_WAY, PREEMPTS, Part, has, parts
from atoll.model.action import Ref
from atoll.model.resource_binding import ResourceBinding


def preemption(hub: Hub) -> Loop[Ref]:
    """The loop of bindings that carry a note of taking or giving room."""
    controller = Controller("preemption", partial(_observe, hub), giving_way.plan)
    loop = Loop(controller, hub.performer, hub.turns)
    gave: dict[Ref, set[Ref]] = {}

    def changed(before: ResourceBinding | None, after: ResourceBinding | None) -> None:
        noted = after is not None and (has(after.wire, PREEMPTS) or has(after.wire, GAVE_WAY))
        known = after or before
        if known is None or not (noted or gave):
            return  # most of the time nobody gives way to anyone
        for part in _given(before):
            _discard(gave, part.other, known.ref)
        for part in _given(after):
            gave.setdefault(part.other, set()).add(known.ref)
        if noted and spec_changed(before, after):
            loop.wake(known.ref)
        # Whoever gave way to this one waits for it to run, or to go.
        for each in gave.get(known.ref, ()):
            loop.wake(each)

    hub.hear_bindings("preemption", changed)
    return loop


def _given(binding: ResourceBinding | None) -> tuple[Part, ...]:
    return () if binding is None else parts(binding.wire, GAVE_WAY)


def _discard(gave: dict[Ref, set[Ref]], taker: Ref, giver: Ref) -> None:
    givers = gave.get(taker, set())
    givers.discard(giver)
    if not givers:
        gave.pop(taker, None)


def _observe(hub: Hub, ref: Ref) -> giving_way.SeenParties | None:
    binding = hub.binding(ref)
    if binding is None:
        return None
    named = [*parts(binding.wire, PREEMPTS), *parts(binding.wire, GAVE_WAY)]
    found = ((each.uid, hub.binding(each.other)) for each in named)
    others = {uid: each for uid, each in found if each is not None and each.meta.uid == uid}
    return giving_way.SeenParties(binding=binding, others=others)
