"""Decisions that were not told yet, by binding, however many bindings wait.

Notes come in as decisions are written, and go out together when there is time to tell them. Of one
binding only as many are held as an explanation keeps, so that memory is bounded by the bindings
there are: of a note 3 to 4 kB among fifty clusters, 19 kB among a thousand. When it is time, is not
known here.
"""

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from atoll.control.explanations.decide.telling import Note, says
from atoll.dialects.explanations import KEPT

K = TypeVar("K", bound=Hashable)


class Untold(Generic[K]):
    """Notes of decisions by key, the oldest first."""

    def __init__(self) -> None:
        self._notes: dict[K, list[Note]] = {}

    def __len__(self) -> int:
        return len(self._notes)

    def add(self, key: K, fresh: Note) -> None:
        """Hold a note, unless it says what the last one says."""
        notes = self._notes.setdefault(key, [])
        if not notes or says(notes[-1]) != says(fresh):
            notes.append(fresh)
            del notes[:-KEPT]

    def take(self, key: K) -> list[Note]:
        """All that is to be told of a key; it is whoever takes it who tells it."""
        return self._notes.pop(key, [])

    def put_back(self, key: K, notes: Sequence[Note]) -> None:
        """What was taken could not be told; what was added since is newer."""
        self._notes[key] = [*notes, *self._notes.get(key, ())][-KEPT:]

    def forget(self, key: K) -> None:
        self._notes.pop(key, None)
