"""Events that are to be written, and those that were: each once, and none lost by being many.

In: what is to be told of an object, and that an object is gone. Out: a key for what is news, and
the event when its turn comes. Of one object only so many messages are remembered, told or not: of
more, the oldest gives way, and the last is always told. So memory is bounded by the objects there
are, and no event of one object pushes out another's. How an event is written is not known here.
"""

from dataclasses import dataclass, field, replace

from atoll.model.action import Tell
from atoll.wire import Object

PER_OBJECT = 256
"""Messages of one object that are remembered: more than a binding has clusters, most often."""

Told = tuple[str, int]


@dataclass(slots=True)
class Events:
    """What was told of objects, by uid, and what is yet to be."""

    _told: dict[str, dict[int, None]] = field(default_factory=dict)
    """By object, the messages that were told, as hashes: they are only ever compared."""
    _untold: dict[str, dict[int, Tell]] = field(default_factory=dict)

    def add(self, action: Tell) -> Told | None:
        """The key of an event that is to be written; None if it was, or waits already."""
        uid, said = key = _key(action)
        waiting = self._untold.setdefault(uid, {})
        if said in waiting or said in self._told.get(uid, ()):
            if not waiting:
                del self._untold[uid]
            return None
        waiting[said] = replace(action, about=_named(action.about))
        _keep_last(waiting)
        return key

    def take(self, key: Told) -> Tell | None:
        """The event of a key, to be written now; None if later ones took its place."""
        uid, said = key
        waiting = self._untold.get(uid, {})
        action = waiting.pop(said, None)
        if not waiting:
            self._untold.pop(uid, None)
        return action

    def tell(self, action: Tell) -> bool:
        """Note that an event is written, and say whether that is news."""
        uid, said = _key(action)
        told = self._told.setdefault(uid, {})
        if said in told:
            return False
        told[said] = None
        _keep_last(told)
        return True

    def forget(self, uid: str) -> None:
        """An object is gone, and what was told of it; what was not is told all the same."""
        self._told.pop(uid, None)

    def __len__(self) -> int:
        """Of how many objects something was told."""
        return len(self._told)


def _key(action: Tell) -> Told:
    return action.about["metadata"].get("uid", ""), hash((action.reason, action.message))


def _keep_last(messages: "dict[int, None] | dict[int, Tell]") -> None:
    if len(messages) > PER_OBJECT:
        del messages[next(iter(messages))]


def _named(about: Object) -> Object:
    """What an event says of its object: no event holds on to all that an object once was."""
    named = ("namespace", "name", "uid", "resourceVersion")
    metadata = {each: about["metadata"][each] for each in named if each in about["metadata"]}
    return {"apiVersion": about["apiVersion"], "kind": about["kind"], "metadata": metadata}
