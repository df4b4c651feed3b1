"""Stories of lazy policies: they take effect when the template changes next."""

from typing import Any

from detection_world import WEB, World, make_policy, make_template, policy_ref

from atoll.control.detector.decide.binding import BUILT_FROM
from atoll.dialects.policy_source import HELD_AT
from atoll.model.action import NOTHING, Ref

LAZY = {"activationPreference": "Lazy"}


def placement(world: World) -> Any:
    binding = world.binding(WEB)
    return binding and binding["spec"]["placement"]


def test_a_lazy_policy_serves_a_template_that_comes_after_it() -> None:
    world = World(make_policy("p", **LAZY), make_template()).settle()
    assert placement(world) == {"by": "p"}


def test_a_lazy_policy_waits_for_a_template_that_came_before_it_to_change() -> None:
    world = World(make_template(), make_policy("p", **LAZY)).settle()
    assert world.claims(WEB) == ("p", None)
    assert HELD_AT in world.objects[WEB]["metadata"]["annotations"]
    world.put({**world.objects[WEB], "status": {"replicas": 0}})
    assert placement(world.settle()) is None
    world.change(WEB, image="b")
    assert placement(world.settle()) == {"by": "p"}
    assert HELD_AT not in world.objects[WEB]["metadata"]["annotations"]


def test_a_change_of_a_lazy_policy_waits_for_the_template_to_change() -> None:
    world = World(make_policy("p", **LAZY), make_template()).settle()
    world.change(policy_ref("p"), placement={"by": "then"})
    assert placement(world.settle()) == {"by": "p"}
    world.change(WEB, image="b")
    assert placement(world.settle()) == {"by": "then"}


def test_a_policy_that_becomes_lazy_and_another_that_ceases_to_be() -> None:
    world = World(make_policy("p"), make_template()).settle()
    world.change(policy_ref("p"), placement={"by": "then"}, **LAZY)
    assert placement(world.settle()) == {"by": "p"}
    world.change(policy_ref("p"), activationPreference="")
    assert placement(world.settle()) == {"by": "then"}


def test_a_lazy_policy_that_takes_over_holds_the_binding_as_it_is() -> None:
    world = World(make_template(), make_policy("p")).settle()
    world.put(make_policy("q", **LAZY))
    world.delete(policy_ref("p"))
    world.settle()
    assert world.claims(WEB) == ("q", "q")
    assert placement(world) == {"by": "p"}
    world.change(WEB, image="b")
    assert placement(world.settle()) == {"by": "q"}


def test_a_binding_built_by_others_is_not_changed_by_a_lazy_policy() -> None:
    world = World(make_template(), make_policy("p")).settle()
    binding = world.binding(WEB)
    assert binding
    notes = {k: v for k, v in binding["metadata"]["annotations"].items() if k != BUILT_FROM}
    world.put({**binding, "metadata": {**binding["metadata"], "annotations": notes}})
    world.put(make_policy("p", placement={"by": "now"}, **LAZY))
    assert placement(world.settle()) == {"by": "p"}
    world.change(WEB, image="b")
    assert placement(world.settle()) == {"by": "now"}


def test_a_deleted_binding_of_a_lazy_policy_is_made_again() -> None:
    world = World(make_policy("p", **LAZY), make_template()).settle()
    del world.objects[Ref.of(world.binding(WEB) or {})]
    assert placement(world.settle()) == {"by": "p"}


def test_a_deleted_binding_is_made_again_after_it_went_though_the_lazy_policy_changed() -> None:
    world = World(make_policy("p", **LAZY), make_template()).settle()
    binding = Ref.of(world.binding(WEB) or {})
    world.delete(binding)
    assert world.plan(WEB) == NOTHING
    world.change(policy_ref("p"), placement={"by": "then"})
    assert world.plan(WEB) == NOTHING
    del world.objects[binding]
    assert placement(world.settle()) == {"by": "then"}


def test_a_lazy_policy_that_finds_a_binding_let_go_notes_the_content_there() -> None:
    world = World(make_template(), make_policy("p")).settle()
    world.change(policy_ref("p"), resourceSelectors=[])
    world.settle()
    world.put(make_policy("q", **LAZY))
    world.settle()
    assert world.claims(WEB) == ("q", "q")
    assert placement(world) == {"by": "p"}
    assert HELD_AT not in world.objects[WEB]["metadata"]["annotations"]


def test_a_lazy_policy_does_not_write_a_binding_on_its_way_out() -> None:
    world = World(make_template(), make_policy("p")).settle()
    world.delete(Ref.of(world.binding(WEB) or {}))
    world.put(make_policy("q", **LAZY))
    world.delete(policy_ref("p"))
    assert world.plan(WEB) == NOTHING
