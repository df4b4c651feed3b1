"""Bindings that give way to others, and those they give way to."""

from functools import partial

from atoll.client.api import Wire
from atoll.control.hub import BINDING_KINDS, Hub, meant_otherwise
from atoll.control.loop import Controller, Loop
from atoll.control.preemption import decide as giving_way
from atoll.dialects.karmada.preemption_notes import GAVE_WAY, PREEMPTS, has, parts, uid_of
from atoll.model.action import Ref


def preemption(hub: Hub) -> Loop[Ref]:
    """The loop of bindings that carry a note of taking or giving room."""
    controller = Controller("preemption", partial(_observe, hub), giving_way.plan)
    loop = Loop(controller, hub.performer, hub.turns)
    gave: dict[Ref, set[Ref]] = {}

    def changed(before: Wire | None, after: Wire | None) -> None:
        noted = after is not None and (has(after, PREEMPTS) or has(after, GAVE_WAY))
        if not (noted or gave):
            return  # most of the time nobody gives way to anyone
        ref = Ref.of(after or before or {})
        for part in parts(before or {}, GAVE_WAY):
            _discard(gave, part.other, ref)
        for part in parts(after or {}, GAVE_WAY):
            gave.setdefault(part.other, set()).add(ref)
        if noted and meant_otherwise(before, after):
            loop.wake(ref)
        # Whoever gave way to this one waits for it to run, or to go.
        for each in gave.get(ref, ()):
            loop.wake(each)

    for kind in BINDING_KINDS:
        hub.hear(kind, changed)
    return loop


def _discard(gave: dict[Ref, set[Ref]], taker: Ref, giver: Ref) -> None:
    givers = gave.get(taker, set())
    givers.discard(giver)
    if not givers:
        gave.pop(taker, None)


def _observe(hub: Hub, ref: Ref) -> giving_way.SeenParties | None:
    binding = hub.plane.find(ref)
    if binding is None:
        return None
    named = [*parts(binding, PREEMPTS), *parts(binding, GAVE_WAY)]
    found = ((each.uid, hub.plane.find(each.other)) for each in named)
    others = {uid: wire for uid, wire in found if wire is not None and uid_of(wire) == uid}
    return giving_way.SeenParties(binding=binding, others=others)
