"""The laws of application, over Works and members in whatever state, stopped anywhere."""

import copy

from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import stumble
from working_plane import FOREIGN, WORK, Plane, manifest, work

from atoll.dialects.karmada import names
from atoll.wire import Wire

SPECS = st.fixed_dictionaries({"replicas": st.integers(0, 3)}, optional={"a": st.booleans()})
LABELS = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"]))
MANIFESTS = st.builds(lambda labels, spec: manifest(labels, **spec), LABELS, SPECS)
STOPS = st.lists(st.integers(0, 2), max_size=6)


@st.composite
def works(draw: st.DrawFn) -> Wire:
    asked = draw(st.sampled_from([{}, {names.CONFLICT_RESOLUTION: "overwrite"}]))
    extra = draw(st.dictionaries(st.just("preserveResourcesOnDeletion"), st.booleans()))
    return work(draw(MANIFESTS), annotations=asked, **extra)


@st.composite
def observed_objects(draw: st.DrawFn) -> Wire | None:
    """Nothing, a stranger's object, or one of ours in whatever state."""
    which = draw(st.sampled_from(["none", "foreign", "ours"]))
    if which == "none":
        return None
    made = FOREIGN if which == "foreign" else draw(MANIFESTS)
    return {**made, "status": draw(st.fixed_dictionaries({"ready": st.booleans()}))}


def begun(first: Wire, there: Wire | None, *, deleting: bool) -> Plane:
    plane = Plane(first)
    if there is not None:
        plane.world.put(there, "m1")
    if deleting:
        plane.world.remove(WORK)
    return plane


@settings(max_examples=150)
@given(first=works(), there=observed_objects(), deleting=st.booleans(), stops=STOPS)
def test_killed_anywhere_it_reaches_the_same_end(
    *, first: Wire, there: Wire | None, deleting: bool, stops: list[int]
) -> None:
    straight, stumbling = (begun(first, there, deleting=deleting) for _ in range(2))
    straight.settle()
    stumble(stumbling.world, stumbling.plan, stops)
    stumbling.settle()
    assert straight.world.contents() == stumbling.world.contents()
    assert straight.plan().actions == ()


@settings(max_examples=100)
@given(first=works(), deleting=st.booleans())
def test_a_foreign_object_is_never_changed_unless_asked_for_nor_ever_deleted(
    *, first: Wire, deleting: bool
) -> None:
    plane = begun(first, FOREIGN, deleting=deleting)
    before = copy.deepcopy(plane.object)
    plane.settle()
    adopted = bool(first["metadata"]["annotations"]) and not deleting
    assert plane.object is not None
    assert (plane.object != before) == adopted


@settings(max_examples=100)
@given(MANIFESTS, MANIFESTS, observed_objects())
def test_a_changed_work_ends_as_if_it_had_always_been_so(
    before: Wire, after: Wire, there: Wire | None
) -> None:
    changed, fresh = begun(work(before), there, deleting=False), Plane(work(after))
    changed.settle()
    changed.change(work(after))
    changed.settle()
    fresh.settle()
    assert changed.object is not None
    assert fresh.object is not None
    if changed.condition("Applied")[0] == "True":
        assert changed.object["spec"] == fresh.object["spec"]
        ours = fresh.object["metadata"]["labels"]
        assert {**changed.object["metadata"]["labels"], **ours} == changed.object["metadata"][
            "labels"
        ]
