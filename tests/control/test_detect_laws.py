"""Laws of detection: it comes to rest, from anywhere, however often it is interrupted."""

from dataclasses import replace
from typing import Any

from detection_world import World, make_policy, make_template
from hypothesis import assume, given
from hypothesis import strategies as st

from atoll.control.detector.decide.plan import plan
from atoll.dialects.karmada import names
from atoll.model.action import Plan, Ref, Tell
from atoll.scheduling.features import Features

TEMPLATES = ("web", "api")
SELECTORS = (
    {},
    {"name": "web"},
    {"name": "api"},
    {"labelSelector": {"matchLabels": {"tier": "front"}}},
    {"kind": "StatefulSet"},
)
PLACES = [Ref("apps/v1", "Deployment", "shop", name) for name in TEMPLATES]


@st.composite
def policies(draw: st.DrawFn, name: str) -> dict[str, Any]:
    return make_policy(
        name,
        *draw(st.lists(st.sampled_from(SELECTORS), min_size=1, max_size=2)),
        namespace=draw(st.sampled_from(["shop", ""])),
        uid=draw(st.sampled_from(["one", "two"])) + name,
        priority=draw(st.integers(0, 2)),
        preemption=draw(st.sampled_from(["Always", "Never"])),
        activationPreference=draw(st.sampled_from(["", "", "Lazy"])),
        dependentOverrides=draw(st.sampled_from([[], [], ["there"], ["missing"]])),
    )


@st.composite
def templates(draw: st.DrawFn, name: str) -> dict[str, Any]:
    wire = make_template(name, tier=draw(st.sampled_from(["front", "back"])))
    wire["spec"]["image"] = draw(st.sampled_from("abc"))
    wire["metadata"]["uid"] += draw(st.sampled_from(["", "", "-again"]))
    return wire


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A user puts or deletes a policy, or edits a template."""
    name = draw(st.sampled_from("pqr"))
    verb = draw(st.sampled_from(["policy", "policy", "delete", "edit"]))
    if verb == "edit":
        return verb, draw(templates(draw(st.sampled_from(TEMPLATES))))
    return verb, draw(policies(name))


def happen(world: World, verb: str, wire: dict[str, Any]) -> None:
    ref = Ref.of(wire)
    if verb == "delete":
        if ref in world.objects:
            world.delete(ref)
        return
    old = world.objects.get(ref)
    if verb == "policy" and old and old["metadata"].get("deletionTimestamp"):
        return
    if verb == "edit" and old and old["metadata"]["uid"] == wire["metadata"]["uid"]:
        # An edit keeps the claim, as an apply does.
        metadata = dict(old["metadata"])
        metadata["labels"] = {**metadata["labels"], **wire["metadata"]["labels"]}
        wire = {**wire, "metadata": metadata}
    world.put(wire)


def make_world(*, preemption: bool, both: list[dict[str, Any]]) -> World:
    world = World(*both, features=Features(PropagationPolicyPreemption=preemption))
    world.overrides = frozenset({"there"})
    return world


worlds = st.builds(
    make_world,
    preemption=st.booleans(),
    both=st.tuples(*map(templates, TEMPLATES)).map(list),
)
histories = st.lists(changes(), max_size=6)


def after(world: World, history: list[tuple[str, dict[str, Any]]], *, resting: bool) -> World:
    for verb, wire in history:
        happen(world, verb, wire)
        if resting:
            world.settle()
    return world


def writes(found: Plan) -> list[Any]:
    return [each for each in found.actions if not isinstance(each, Tell)]


@given(worlds, histories, st.booleans())
def test_a_plan_carried_out_leaves_nothing_to_plan(world, history, resting) -> None:
    after(world, history, resting=resting)
    for ref in list(world.objects):
        found = world.plan(ref)
        assert len(writes(found)) <= 2 or ref not in PLACES
        world.perform(found.actions)
        assert not writes(world.plan(ref)), ref


@given(worlds, histories, st.lists(st.integers(0, 3), max_size=12))
def test_interrupted_anywhere_it_comes_to_the_same_end(world, history, stops) -> None:
    after(world, history[:-1], resting=True)
    after(world, history[-1:], resting=False)
    whole, broken = world.copy(), world
    for ref in PLACES:
        whole.perform(whole.plan(ref).actions)
        for stop in stops:
            broken.perform(broken.plan(ref).actions[:stop])
        broken.perform(broken.plan(ref).actions)
    assert broken.state() == whole.state()


@given(worlds, histories)
def test_at_rest_everything_carries_one_claim_of_a_policy_that_is_there(world, history) -> None:
    after(world, history, resting=False)
    world.settle()
    there = {each["metadata"]["name"] for each in world.kept(*KINDS)}
    for ref in PLACES:
        of_template, of_binding = world.claims(ref)
        assert of_template is None or of_template in there
        binding = world.binding(ref)
        stranger = binding and (
            binding["metadata"]["ownerReferences"][0]["uid"]
            != world.objects[ref]["metadata"]["uid"]
        )
        assert stranger or of_binding is None or of_binding == of_template


@given(worlds, histories)
def test_never_two_claims_at_once(world, history) -> None:
    for verb, wire in history:
        happen(world, verb, wire)
        for ref in list(world.objects):
            for action in world.plan(ref).actions:
                world.perform([action])
                check_one_claim_each(world)


KINDS = ("PropagationPolicy", "ClusterPropagationPolicy")


def check_one_claim_each(world: World) -> None:
    for ref, each in world.objects.items():
        labels = each["metadata"].get("labels") or {}
        if ref.kind not in KINDS:
            assert not {names.POLICY_ID, names.CLUSTER_POLICY_ID} <= labels.keys(), ref


@given(worlds, histories, st.randoms(use_true_random=False))
def test_the_order_of_policies_does_not_matter(world, history, chance) -> None:
    after(world, history, resting=False)
    for ref in PLACES:
        seen = world.seen(ref)
        shuffled = list(seen.policies)
        chance.shuffle(shuffled)
        assert plan(replace(seen, policies=tuple(shuffled))) == plan(seen)


@given(worlds, histories)
def test_a_policy_deleted_goes_and_nothing_of_it_stays(world, history) -> None:
    after(world, history, resting=True)
    going = [Ref.of(each) for each in world.kept(*KINDS)]
    assume(going)
    before = {ref: world.binding(ref) is not None for ref in PLACES}
    for ref in going:
        world.delete(ref)
    world.settle()
    assert not world.kept(*KINDS)
    for ref in PLACES:
        assert world.claims(ref)[0] is None
        assert (world.binding(ref) is not None) is before[ref], "what runs runs on"


@given(worlds, histories)
def test_what_is_planned_on_is_not_changed(world, history) -> None:
    after(world, history, resting=False)
    for ref in PLACES:
        seen = world.seen(ref)
        before = repr(seen)
        plan(seen)
        assert repr(seen) == before
