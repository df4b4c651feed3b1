"""Garbage collection, planned on small worlds of objects and carried out to the end.

A world is what the store would hold; carrying out a plan changes it as the verbs would. Nothing
here waits or runs: `plan` is a pure function, and these are its laws.
"""

from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.apiserver.housekeeping.garbage import (
    Action,
    Delete,
    Release,
    Unblock,
    Unhold,
    plan,
)
from atoll.apiserver.housekeeping.graph import Graph, Node
from atoll.apiserver.objects.view import Metadata, OwnerReference
from atoll.store.record import Record

ROOT = "root"
FINALIZERS = {"Orphan": ("orphan",), "Foreground": ("foregroundDeletion",), "Background": ()}


@dataclass
class World:
    """Objects by uid, as they would be in the store."""

    objects: dict[str, Metadata] = field(default_factory=dict)

    def add(self, uid: str, *owners: str, blocks: bool = False, held: tuple[str, ...] = ()) -> None:
        references = tuple(
            OwnerReference(owner, "ConfigMap", owner, "v1", block_owner_deletion=blocks or None)
            for owner in owners
        )
        self.objects[uid] = Metadata(uid, "ns", uid, owner_references=references, finalizers=held)

    def delete(self, uid: str, propagation: str) -> None:
        """What DELETE does: mark what is held, remove what is not."""
        known = self.objects.get(uid)
        if known is None:
            return
        others = [one for one in known.finalizers if one not in ("orphan", "foregroundDeletion")]
        held = (*others, *FINALIZERS[propagation])
        if held:
            self.objects[uid] = msgspec.structs.replace(
                known, finalizers=held, deletion_timestamp="now"
            )
        else:
            del self.objects[uid]

    def graph(self) -> Graph:
        graph = Graph()
        for uid, metadata in self.objects.items():
            value = msgspec.json.encode({"metadata": msgspec.to_builtins(metadata)})
            graph.add(Record("configmaps", f"ns/{uid}", 1, value))
        return graph

    def plans(self) -> list[tuple[str, list[Action]]]:
        graph = self.graph()
        nodes = [(uid, graph.node(uid)) for uid in self.objects]
        return [(uid, plan(node, graph, lambda _: True)) for uid, node in nodes if node]

    def carry_out(self, action: Action) -> None:
        known = self.objects.get(action.node.uid)
        if known is None:
            return
        match action:
            case Delete(node, propagation):
                self.delete(node.uid, propagation)
            case Release(_, owners):
                kept = tuple(one for one in known.owner_references if one.uid not in owners)
                self.objects[known.uid] = msgspec.structs.replace(known, owner_references=kept)
            case Unhold(_, finalizer):
                held = tuple(one for one in known.finalizers if one != finalizer)
                self.objects[known.uid] = msgspec.structs.replace(known, finalizers=held)
                if not held:
                    del self.objects[known.uid]
            case Unblock():
                freed = tuple(
                    msgspec.structs.replace(one, block_owner_deletion=False)
                    for one in known.owner_references
                )
                self.objects[known.uid] = msgspec.structs.replace(known, owner_references=freed)

    def settle(self) -> None:
        """Carry out whatever is planned until nothing is; fails if it never ends."""
        for _ in range(50):
            actions = [action for _, planned in self.plans() for action in planned]
            if not actions:
                return
            for action in actions:
                self.carry_out(action)
        pytest.fail("garbage collection goes on for ever")


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A root and up to seven objects, each owned by some of the others, rings included."""
    world = World()
    uids = [ROOT, *(f"u{number}" for number in range(draw(st.integers(1, 7))))]
    for uid in uids:
        others = st.sampled_from([other for other in uids if other != uid])
        owners = draw(st.lists(others, max_size=2, unique=True))
        world.add(uid, *owners, blocks=draw(st.booleans()))
    return world


def owners_of(world: World, uid: str) -> list[str]:
    return [reference.uid for reference in world.objects[uid].owner_references]


def doomed(world: World) -> set[str]:
    """What goes with the root: whatever has owners, all of which go."""
    gone = {ROOT}
    while True:
        more = {
            uid
            for uid in world.objects
            if (owners := owners_of(world, uid)) and gone.issuperset(owners)
        }
        if more <= gone:
            return gone
        gone |= more


@given(worlds(), st.sampled_from(["Background", "Foreground"]))
def test_what_has_no_owner_left_goes_and_the_rest_stays(world: World, propagation: str) -> None:
    before, gone = set(world.objects), doomed(world)
    world.delete(ROOT, propagation)
    world.settle()
    assert set(world.objects) == before - gone
    assert all(owner in world.objects for uid in world.objects for owner in owners_of(world, uid))


@given(worlds())
def test_orphans_stay_and_name_their_owner_no_more(world: World) -> None:
    before = set(world.objects)
    world.delete(ROOT, "Orphan")
    world.settle()
    assert set(world.objects) == before - {ROOT}
    assert not any(ROOT in owners_of(world, uid) for uid in world.objects)


@given(worlds(), st.sampled_from(sorted(FINALIZERS)))
def test_what_is_settled_leaves_nothing_to_plan(world: World, propagation: str) -> None:
    world.delete(ROOT, propagation)
    world.settle()
    assert [planned for _, planned in world.plans() if planned] == []


@given(worlds(), st.sampled_from(sorted(FINALIZERS)), st.data())
def test_an_interrupted_plan_comes_to_the_same_end(
    world: World, propagation: str, data: st.DataObject
) -> None:
    other = World(dict(world.objects))
    for one in (world, other):
        one.delete(ROOT, propagation)
    actions = [action for _, planned in other.plans() for action in planned]
    for action in actions[: data.draw(st.integers(0, len(actions)))]:
        other.carry_out(action)
        other.carry_out(action)  # twice is harmless
    world.settle()
    other.settle()
    assert other.objects == world.objects


@given(worlds())
def test_an_owner_in_the_foreground_outlives_what_blocks_it(world: World) -> None:
    blocking = {
        uid
        for uid, known in world.objects.items()
        if any(one.uid == ROOT and one.block_owner_deletion for one in known.owner_references)
    }
    world.delete(ROOT, "Foreground")
    actions = dict(world.plans())[ROOT]
    assert (actions == []) == bool(blocking)


def test_a_dependent_of_a_kind_that_is_not_served_is_left_alone() -> None:
    world = World()
    world.add("orphaned", "unknown")
    graph = world.graph()
    node = graph.node("orphaned")
    assert node is not None
    assert plan(node, graph, lambda _: False) == []
    assert plan(node, graph, lambda _: True) == [Delete(node, "Background")]


def test_an_owner_in_another_namespace_is_no_owner() -> None:
    world = World()
    world.add("owner")
    world.objects["owner"] = msgspec.structs.replace(world.objects["owner"], namespace="elsewhere")
    world.add("dependent", "owner")
    actions = dict(world.plans())["dependent"]
    assert [type(action) for action in actions] == [Delete]


def test_a_held_object_is_waited_for() -> None:
    world = World()
    world.add(ROOT)
    world.add("held", ROOT, blocks=True, held=("example.io/mine",))
    world.delete(ROOT, "Foreground")
    world.settle()
    assert set(world.objects) == {ROOT, "held"}
    node = world.graph().node("held")
    assert isinstance(node, Node)
    world.carry_out(Unhold(node, "example.io/mine"))
    world.settle()
    assert world.objects == {}
