"""A few API servers in memory: what plans want done is done to them, all of it or a part.

As strict as real ones where plans rely on it: a write decided on an old state is refused, a write
that changes nothing is none, finalizers hold an object back, a uid is never given twice.
"""

import copy
from collections.abc import Callable

from atoll.model.action import PLANE, Action, Create, Delete, Plan, Ref, Tell, Update
from atoll.wire import Object, Wire


class Refused(Exception):
    """A server said no."""


class World:
    """Objects by cluster and reference, with the versions servers give them."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, Ref], Wire] = {}
        self._clock = 0
        self.writes = 0
        self.told: list[Tell] = []

    def get(self, ref: Ref, at: str = PLANE) -> Wire | None:
        return self._objects.get((at, ref))

    def all(self, kind: str, at: str = PLANE) -> list[Wire]:
        found = [(ref, wire) for (where, ref), wire in self._objects.items() if where == at]
        return [
            wire for ref, wire in sorted(found, key=lambda one: str(one[0])) if ref.kind == kind
        ]

    def put(self, wire: Object, at: str = PLANE) -> Wire:
        """As if someone else had written it, with whatever status and metadata it carries."""
        fresh = copy.deepcopy(dict(wire))
        old = self.get(Ref.of(wire), at)
        known = old["metadata"] if old else {}
        uid = fresh["metadata"].get("uid") or known.get("uid") or f"uid-{self._tick()}"
        fresh["metadata"] = {**fresh["metadata"], "uid": uid, "resourceVersion": str(self._tick())}
        self._objects[at, Ref.of(wire)] = fresh
        return fresh

    def remove(self, ref: Ref, at: str = PLANE) -> None:
        """Delete an object as a user does; one with finalizers only begins to go."""
        wire = self._objects.get((at, ref))
        if wire is None:
            return
        if wire["metadata"].get("finalizers"):
            leaving = {**wire["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
            self.put({**wire, "metadata": leaving}, at)
        else:
            del self._objects[at, ref]

    def perform(self, action: Action) -> Wire | None:
        match action:
            case Tell():
                self.told.append(action)
                return None
            case Create():
                return self._create(action)
            case Update():
                return self._update(action)
            case Delete():
                return self._delete(action)

    def _create(self, action: Create) -> Wire:
        self.writes += 1
        if self.get(Ref.of(action.object), action.at) is not None:
            raise Refused("already there")
        metadata = {k: v for k, v in action.object["metadata"].items() if k != "uid"}
        return self.put({**action.object, "metadata": metadata}, action.at)

    def _update(self, action: Update) -> Wire:
        self.writes += 1
        old = self.get(Ref.of(action.object), action.at)
        given = action.object["metadata"]
        if old is None or old["metadata"]["resourceVersion"] != given.get("resourceVersion"):
            raise Refused("decided on an old state")
        if action.subresource:
            fresh = {**old, action.subresource: action.object[action.subresource]}
        else:
            status = {"status": old["status"]} if "status" in old else {}
            fresh = {**{k: v for k, v in action.object.items() if k != "status"}, **status}
        if fresh == old:
            return old
        metadata = fresh["metadata"]
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            del self._objects[action.at, Ref.of(old)]
            return fresh
        return self.put(fresh, action.at)

    def _delete(self, action: Delete) -> None:
        self.writes += 1
        old = self.get(action.ref, action.at)
        known = (action.uid, action.version)
        if (
            old is not None
            and (old["metadata"]["uid"], old["metadata"]["resourceVersion"]) != known
        ):
            raise Refused("another object of this name, or decided on an old state")
        self.remove(action.ref, action.at)

    def _tick(self) -> int:
        self._clock += 1
        return self._clock

    def contents(self) -> dict[tuple[str, str], Wire]:
        """Everything there is, without what depends on the order of writes."""
        return {(at, str(ref)): _timeless(wire) for (at, ref), wire in self._objects.items()}


def _timeless(wire: Wire) -> Wire:
    left_out = ("resourceVersion", "uid", "generation")
    metadata = {k: v for k, v in wire["metadata"].items() if k not in left_out}
    return {**wire, "metadata": metadata}


def settle(world: World, plan: Callable[[], Plan], rounds: int = 12) -> int:
    """Plan and perform until there is nothing to do; the number of writes it took."""
    before = world.writes
    for _ in range(rounds):
        actions = plan().actions
        if not actions:
            return world.writes - before
        for action in actions:
            world.perform(action)
    raise AssertionError(f"no end after {rounds} rounds; next would be {plan().actions}")


def stumble(world: World, plan: Callable[[], Plan], stops: list[int]) -> None:
    """Perform only the beginning of each plan, as if the process were killed there each time."""
    for stop in stops:
        for action in plan().actions[:stop]:
            world.perform(action)
