"""Decisions and explanations: why each binding is where it is, written when nothing presses more.

Explanations are for people: a decision waits for none, several are told in one write, and what was
not yet written when the process ends is not told. They are not mirrored either: what was written
last is remembered for a while, and looked up where it is not. What ran nowhere before has most
likely none yet: one is made, and only looked for if it turns out to be there.
"""

import logging
from collections import OrderedDict

from atoll.client.api import Collection, Missing, Refused, Stale, Taken
from atoll.client.transport import Unreachable
from atoll.control.explanations.decide.keeping import explanation_of, keep, untold
from atoll.control.explanations.decide.telling import Note, note
from atoll.control.explanations.decide.waiting import Untold
from atoll.control.hub import Hub
from atoll.control.levels import Level
from atoll.dialects.karmada.preemption_notes import Part
from atoll.model.action import Create, Delete, Ref, Update
from atoll.model.metadata import Metadata
from atoll.runtime.worklist import Worklist
from atoll.scheduling.decision import Decision
from atoll.scheduling.trigger import Trigger
from atoll.wire import Wire

log = logging.getLogger("atoll.explanations")

_KNOWN_MOST = 1024
_AGAIN_S = 0.1


class Explanations:
    """Tells why bindings are placed as they are."""

    name = "explanations"

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._untold: Untold[Ref] = Untold()
        self._known: OrderedDict[Ref, Wire] = OrderedDict()
        self._unsure: set[Ref] = set()
        self._waiting: Worklist[Ref] = Worklist(self.name, hub.turns, few=0)

    def note(
        self, binding: Ref, decision: Decision, why: Trigger, gives: tuple[Part, ...] = ()
    ) -> None:
        """Tell of a decision when there is time."""
        self._untold.add(binding, note(decision, why, self._hub.now, gives))
        self._waiting.add(binding, Level.TELL)

    def forget(self, binding: Ref) -> None:
        """A binding is no more; its explanation goes with it."""
        self._untold.forget(binding)
        self._known.pop(binding, None)
        self._unsure.discard(binding)

    async def run(self) -> None:
        """Write what is to be told, for ever."""
        await self._waiting.run(self._tell)

    async def _tell(self, key: Ref) -> None:
        binding, notes = self._hub.binding(key), self._untold.take(key)
        if binding is None:
            self.forget(key)  # it may have gone while this was written, and what failed came back
        if binding is None or not notes:
            return
        try:
            await self._write(key, binding.meta, notes)
        except (Stale, Taken, Missing, Unreachable) as late:
            # It may have happened, or someone else wrote: look, and tell what is still untold.
            log.info("%(binding)s is explained again: %(err)s", {"binding": key, "err": late})
            self._known.pop(key, None)
            self._unsure.add(key)
            self._untold.put_back(key, notes)
            if isinstance(late, Missing | Unreachable):
                raise  # again after a pause that grows: the server may be away for long
            self._waiting.add_later(key, _AGAIN_S)
        except Refused as refusal:
            log.info("%(binding)s is not explained: %(err)s", {"binding": key, "err": refusal})

    async def _write(self, key: Ref, binding: Metadata, notes: list[Note]) -> None:
        hub, ref = self._hub, explanation_of(key)
        collection = hub.plane.collection(ref.api_version, ref.kind)
        known = self._known.get(key)
        if known is None and (key in self._unsure or len(notes[0].record.placed.rows)):
            known = await self._look(collection, ref)
            notes = untold(known, notes) if key in self._unsure else notes
            self._unsure.discard(key)
        for action in keep(binding, known, notes).actions:
            hub.performer.writes += 1
            match action:
                case Create():
                    known = await hub.plane.api.create(collection, action.object)
                case Update():
                    known = await hub.plane.api.replace(collection, action.object)
                case Delete() if known is not None:
                    await hub.plane.api.delete(collection, known, unchanged=True)
        if known is not None:
            self._known[key] = known
            self._known.move_to_end(key)
            if len(self._known) > _KNOWN_MOST:
                self._known.popitem(last=False)

    async def _look(self, collection: Collection, ref: Ref) -> Wire | None:
        try:
            return await self._hub.plane.api.get(collection.path(ref.namespace, ref.name))
        except Missing:
            return None
