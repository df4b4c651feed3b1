"""Bindings that give way to others, and those they give way to."""

from functools import partial

from atoll.control.hub import Hub, spec_changed
from atoll.control.loop import Controller, Loop
from atoll.control.preemption import decide as giving_way
from atoll.dialects.karmada.preemption_notes import GAVE_WAY, PREEMPTS, has, parts
from atoll.model.action import Ref
from atoll.model.named import Named
from atoll.model.resource_binding import ResourceBinding


def preemption(hub: Hub) -> Loop[Ref]:
    """The loop of bindings that carry a note of taking or giving room."""
    controller = Controller("preemption", partial(_observe, hub), giving_way.plan)
    loop = Loop(controller, hub.performer, hub.turns)
    gave: Named[Ref, Ref] = Named()

    def changed(before: ResourceBinding | None, after: ResourceBinding | None) -> None:
        known = after or before
        if known is None:
            return
        given = () if after is None else parts(after.wire, GAVE_WAY)
        gave.put(known.ref, (each.other for each in given))
        noted = after is not None and (has(after.wire, PREEMPTS) or has(after.wire, GAVE_WAY))
        if noted and spec_changed(before, after):
            loop.wake(known.ref)
        # Whoever gave way to this one waits for it to run, or to go.
        for each in gave.naming(known.ref):
            loop.wake(each)

    hub.hear_bindings("preemption", changed)
    return loop


def _observe(hub: Hub, ref: Ref) -> giving_way.SeenParties | None:
    binding = hub.binding(ref)
    if binding is None:
        return None
    named = [*parts(binding.wire, PREEMPTS), *parts(binding.wire, GAVE_WAY)]
    found = ((each.uid, hub.binding(each.other)) for each in named)
    others = {uid: each for uid, each in found if each is not None and each.meta.uid == uid}
    return giving_way.SeenParties(binding=binding, others=others)
