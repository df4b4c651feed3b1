"""Dependencies that travel along: stories of one parent and of several, and the laws."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import World, settle, stumble

from atoll.control.dependencies import decide as depending
from atoll.control.dependencies.decide import SeenDependencies
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects.resource_bindings import decode
from atoll.interpreting.operations import Dependency
from atoll.model.action import Create, Plan, Ref, Tell, Update
from atoll.model.resource_binding import ResourceBinding
from atoll.wire import Wire

API, KIND = "work.karmada.io/v1alpha2", "ResourceBinding"


def parent(name: str = "web-deployment", *clusters: str, **spec: Any) -> Wire:
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {
            "namespace": "shop",
            "name": name,
            "labels": {names.BINDING_ID: f"id-of-{name}"},
            "finalizers": [names.BINDING_FINALIZER],
        },
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "placement": {},
            "propagateDeps": True,
            "clusters": [{"name": each, "replicas": 1} for each in clusters],
            **spec,
        },
    }


def config(name: str) -> Wire:
    metadata = {"namespace": "shop", "name": name, "uid": f"uid-of-{name}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def needs(*names_: str) -> tuple[Dependency, ...]:
    return tuple(Dependency("v1", "ConfigMap", "shop", each) for each in names_)


class Plane:
    """Bindings and ConfigMaps in a plane, and what each parent's template depends on."""

    def __init__(self, *parents: Wire) -> None:
        self.world = World()
        self.needs: dict[str, tuple[Dependency, ...]] = {}
        for each in parents:
            self.world.put(each)

    def plan(self, name: str = "web-deployment") -> Plan:
        known = self.known()
        if ("shop", name) not in known:
            return Plan()
        wanted = self.needs.get(name, ())
        refs = [Ref("v1", "ConfigMap", "shop", each.name) for each in wanted]
        objects = [wire for wire in map(self.world.get, refs) if wire is not None]
        seen = SeenDependencies(
            ("shop", name),
            known["shop", name],
            dependencies=wanted,
            objects=objects,
            bindings=known,
            parents=known,
        )
        return depending.plan(seen)

    def known(self) -> dict[tuple[str, str], ResourceBinding]:
        return {("shop", each["metadata"]["name"]): decode(each) for each in self.world.all(KIND)}

    def settle(self, *parents: str) -> int:
        return sum(settle(self.world, lambda n=each: self.plan(n)) for each in parents or (WEB,))

    def binding(self, name: str) -> Wire:
        found = self.world.get(Ref(API, KIND, "shop", name))
        assert found is not None, f"no binding {name}"
        return found

    def change(self, name: str, **spec: Any) -> None:
        binding = self.binding(name)
        self.world.put({**binding, "spec": {**binding["spec"], **spec}})


WEB, JOB, CONFIG = "web-deployment", "batch-job", "settings-configmap"


def carrying(*clusters: str, **spec: Any) -> Plane:
    """A parent in these clusters that needs the ConfigMap `settings`, which exists."""
    plane = Plane(parent(WEB, *clusters, **spec))
    plane.needs[WEB] = needs("settings")
    plane.world.put(config("settings"))
    return plane


def test_a_dependency_goes_where_its_parent_goes() -> None:
    plane = carrying("m1", "m2")
    assert plane.settle() == 2  # the parent, the attached binding
    attached = plane.binding(CONFIG)
    version = (plane.world.get(Ref("v1", "ConfigMap", "shop", "settings")) or {})["metadata"]
    assert attached["spec"] == {
        "resource": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "namespace": "shop",
            "name": "settings",
            "uid": "uid-of-settings",
            "resourceVersion": version["resourceVersion"],
        },
        "requiredBy": [
            {
                "namespace": "shop",
                "name": WEB,
                "clusters": [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 1}],
            }
        ],
        "conflictResolution": "Abort",
        "preserveResourcesOnDeletion": False,
    }
    label = names.depended_by("shop", WEB)
    assert attached["metadata"]["labels"] == {label: f"id-of-{WEB}"}
    assert attached["metadata"]["finalizers"] == [names.BINDING_FINALIZER]
    [owner] = attached["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == (
        "ConfigMap",
        "uid-of-settings",
        True,
    )


def test_what_every_cluster_makes_by_itself_does_not_travel() -> None:
    plane = carrying("m1")
    plane.needs[WEB] = needs("kube-root-ca.crt", "settings")
    plane.world.put(config("kube-root-ca.crt"))
    plane.settle()
    attached = [each["metadata"]["name"] for each in plane.world.all(KIND)]
    assert sorted(attached) == sorted([CONFIG, WEB])


def test_the_parent_is_held_and_tells_what_it_depends_on() -> None:
    plane = carrying("m1")
    plane.settle()
    metadata = plane.binding(WEB)["metadata"]
    assert names.DEPENDENCIES_FINALIZER in metadata["finalizers"]
    assert metadata["annotations"][names.DEPENDENCIES] == (
        '[{"apiVersion":"v1","kind":"ConfigMap","name":"settings","namespace":"shop"}]'
    )


def test_the_same_list_written_by_someone_else_is_not_written_again() -> None:
    plane = carrying("m1")
    plane.settle()
    known = plane.binding(WEB)
    text = '[ {"namespace":"shop","name":"settings","kind":"ConfigMap","apiVersion":"v1"} ]'
    metadata = {**known["metadata"], "annotations": {names.DEPENDENCIES: text}}
    plane.world.put({**known, "metadata": metadata})
    assert plane.settle() == 0


@pytest.mark.parametrize("text", ["", "{", "7"], ids=["empty", "broken", "no list"])
def test_a_record_that_cannot_be_read_is_none(text: str) -> None:
    spoilt = parent()
    spoilt["metadata"]["annotations"] = {names.DEPENDENCIES: text}
    assert depending.recorded(decode(spoilt)) == ()


def test_a_parent_that_moves_takes_its_dependency_along() -> None:
    plane = carrying("m1")
    plane.settle()
    plane.change(WEB, clusters=[{"name": "m3"}])
    assert plane.settle() == 1
    [snapshot] = plane.binding(CONFIG)["spec"]["requiredBy"]
    assert snapshot["clusters"] == [{"name": "m3"}]


def test_nothing_is_attached_before_there_is_a_decision() -> None:
    assert carrying().plan() == Plan()


def test_a_parent_that_needs_nothing_is_left_alone() -> None:
    assert Plane(parent(WEB, "m1")).plan() == Plan()


def test_a_dependency_that_is_created_later_follows_then() -> None:
    plane = Plane(parent(WEB, "m1"))
    plane.needs[WEB] = needs("settings")
    plane.settle()
    assert [each["metadata"]["name"] for each in plane.world.all(KIND)] == [WEB]
    plane.world.put(config("settings"))
    assert plane.settle() == 1
    assert plane.binding(CONFIG)["spec"]["requiredBy"]


def _no_longer_needed(plane: Plane) -> None:
    plane.needs[WEB] = ()


def _turned_off(plane: Plane) -> None:
    plane.change(WEB, propagateDeps=False)


def _deleted(plane: Plane) -> None:
    plane.world.remove(Ref(API, KIND, "shop", WEB))


ENDS = [
    pytest.param(_no_longer_needed, id="the template refers to it no more"),
    pytest.param(_turned_off, id="dependencies are carried no more"),
    pytest.param(_deleted, id="the parent is deleted"),
]


@pytest.mark.parametrize("end", ENDS)
def test_what_is_no_longer_needed_is_detached(end: Any) -> None:
    plane = carrying("m1")
    plane.settle()
    end(plane)
    plane.settle()
    attached = plane.binding(CONFIG)
    assert attached["spec"]["requiredBy"] == []
    assert attached["metadata"]["labels"] == {}
    assert "conflictResolution" not in attached["spec"]


@pytest.mark.parametrize("end", ENDS[1:])
def test_a_parent_is_let_go_only_after_all_is_detached(end: Any) -> None:
    plane = carrying("m1")
    plane.settle()
    end(plane)
    detach, release = plane.plan().actions
    assert isinstance(detach, Update)
    assert isinstance(release, Update)
    assert Ref.of(detach.object).name == CONFIG
    assert names.DEPENDENCIES_FINALIZER not in release.object["metadata"]["finalizers"]


def two_parents(first: Wire, second: Wire) -> Plane:
    plane = Plane(parent(WEB, "m1", **first), parent(JOB, "m2", **second))
    plane.needs = {WEB: needs("settings"), JOB: needs("settings")}
    plane.world.put(config("settings"))
    plane.settle(WEB, JOB)
    return plane


def test_a_dependency_of_two_goes_where_either_goes_and_stays_with_the_one_that_is_left() -> None:
    plane = two_parents({}, {})
    needed = plane.binding(CONFIG)["spec"]["requiredBy"]
    assert [each["name"] for each in needed] == [WEB, JOB]
    plane.change(WEB, propagateDeps=False)
    plane.settle(WEB, JOB)
    [left] = plane.binding(CONFIG)["spec"]["requiredBy"]
    assert (left["name"], left["clusters"]) == (JOB, [{"name": "m2", "replicas": 1}])


OVERWRITE, PRESERVE = {"conflictResolution": "Overwrite"}, {"preserveResourcesOnDeletion": True}
RESOLUTION = "ConflictResolution conflicted (Overwrite vs Abort)"
PRESERVATION = "PreserveResourcesOnDeletion conflicted (true vs false)"
DISAGREEMENTS = [
    pytest.param({}, {}, ("Abort", False), "", id="neither asks"),
    pytest.param(OVERWRITE, OVERWRITE, ("Overwrite", False), "", id="both ask to overwrite"),
    pytest.param(OVERWRITE, {}, ("Overwrite", False), RESOLUTION, id="one asks to overwrite"),
    pytest.param({}, PRESERVE, ("Abort", True), PRESERVATION, id="one asks to preserve"),
    pytest.param(
        OVERWRITE, PRESERVE, ("Overwrite", True), f"{RESOLUTION}; {PRESERVATION}", id="each asks"
    ),
]


@pytest.mark.parametrize(("first", "second", "outcome", "conflict"), DISAGREEMENTS)
def test_parents_that_disagree(first: Wire, second: Wire, outcome: Any, conflict: str) -> None:
    plane = two_parents(first, second)
    spec = plane.binding(CONFIG)["spec"]
    assert (spec["conflictResolution"], spec["preserveResourcesOnDeletion"]) == outcome
    told = [(each.reason, each.message) for each in plane.world.told]
    message = f"Dependency policy conflict detected: {conflict}."
    assert told == ([("DependencyPolicyConflict", message)] if conflict else [])


def test_what_a_parent_asked_for_goes_with_it() -> None:
    plane = two_parents(OVERWRITE, PRESERVE)
    plane.change(WEB, propagateDeps=False)
    plane.settle(WEB)
    spec = plane.binding(CONFIG)["spec"]
    assert (spec["conflictResolution"], spec["preserveResourcesOnDeletion"]) == ("Abort", True)


def test_a_dependency_with_a_policy_of_its_own_keeps_what_that_says() -> None:
    plane = carrying("m1", conflictResolution="Overwrite")
    own = parent(CONFIG, "m9", propagateDeps=False, conflictResolution="Abort")
    own["metadata"]["labels"]["mine"] = "yes"
    plane.world.put(own)
    plane.settle()
    attached = plane.binding(CONFIG)
    assert attached["spec"]["clusters"] == [{"name": "m9", "replicas": 1}]
    assert attached["spec"]["conflictResolution"] == "Abort"
    assert [each["name"] for each in attached["spec"]["requiredBy"]] == [WEB]
    plane.needs[WEB] = ()
    plane.settle()
    attached = plane.binding(CONFIG)
    assert attached["metadata"]["labels"] == {
        names.BINDING_ID: f"id-of-{CONFIG}",
        "mine": "yes",
    }
    assert attached["spec"]["clusters"] == [{"name": "m9", "replicas": 1}]


def test_a_dependency_made_anew_waits_until_its_former_binding_is_gone() -> None:
    plane = carrying("m1")
    plane.settle()
    plane.world.put(
        {**config("settings"), "metadata": {**config("settings")["metadata"], "uid": "2"}}
    )
    waiting = plane.plan()
    assert waiting.actions == ()
    assert waiting.again_in is not None


def test_a_dependency_that_is_gone_but_still_asked_for_is_left_to_end_by_itself() -> None:
    plane = carrying("m1")
    plane.settle()
    plane.world.remove(Ref("v1", "ConfigMap", "shop", "settings"))
    assert plane.plan() == Plan()


def test_where_dependencies_cannot_be_told_nothing_is_touched() -> None:
    plane = carrying("m1")
    plane.settle()
    known = plane.known()
    seen = SeenDependencies(("shop", WEB), known["shop", WEB], bindings=known, parents=known)
    assert depending.plan(seen) == Plan()


TEMPLATE = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}


def test_a_template_that_cannot_be_understood_is_told_so_and_keeps_what_it_has() -> None:
    plane = carrying("m1")
    plane.settle()
    known = plane.known()
    problem = "spec.template: must be an object"
    seen = SeenDependencies(
        ("shop", WEB), known["shop", WEB], TEMPLATE, problem=problem, bindings=known
    )
    assert depending.plan(seen).actions == (
        Tell(TEMPLATE, "GetDependenciesFailed", problem, warning=True),
    )


def test_the_owner_of_a_template_is_told_what_goes_along() -> None:
    seen = SeenDependencies(("shop", WEB), decode(parent(WEB, "m1")), TEMPLATE, needs("settings"))
    told = [each for each in depending.plan(seen).actions if isinstance(each, Tell)]
    assert [each.reason for each in told] == ["GetDependenciesSucceed"]
    assert "settings" in told[0].message


def test_a_binding_is_found_by_its_parents_whether_or_not_it_is_labelled() -> None:
    plane = carrying("m1")
    plane.settle()
    attached = plane.binding(CONFIG)
    bare = {**attached, "metadata": {**attached["metadata"], "labels": {"mine": "yes"}}}
    for each in (attached, bare):
        assert set(depending.attached_by(decode(each))) == {names.depended_by("shop", WEB)}
    assert not set(depending.attached_by(decode(plane.binding(WEB))))


def test_what_is_recorded_is_what_was_asked_for() -> None:
    plane = carrying("m1")
    slices = Dependency("v1", "Pod", "shop", selector={"matchLabels": {"app": "web"}})
    plane.needs[WEB] = (*needs("settings"), slices)
    plane.settle()
    assert depending.recorded(decode(plane.binding(WEB))) == plane.needs[WEB]


def test_a_snapshot_without_its_label_is_found_and_taken_off() -> None:
    plane = carrying("m1")
    plane.settle()
    attached = plane.binding(CONFIG)
    plane.world.put({**attached, "metadata": {**attached["metadata"], "labels": {}}})
    plane.needs[WEB] = ()
    plane.settle()
    assert plane.binding(CONFIG)["spec"]["requiredBy"] == []


def test_a_parent_that_went_without_being_let_go_is_taken_off() -> None:
    plane = carrying("m1")
    plane.settle()
    known = {("shop", CONFIG): plane.known()["shop", CONFIG]}
    seen = SeenDependencies(("shop", WEB), bindings=known)
    [detached] = depending.plan(seen).actions
    assert isinstance(detached, Update)
    assert detached.object["spec"]["requiredBy"] == []
    assert detached.object["metadata"]["labels"] == {}


def test_bindings_that_cannot_be_read_are_left_as_they_are() -> None:
    plane = carrying("m1")
    plane.settle()
    plane.change(CONFIG, replicas="many")
    plane.needs[WEB] = ()
    [record] = plane.plan().actions
    assert Ref.of(getattr(record, "object", {})).name == WEB
    plane.change(WEB, replicas="many")
    assert plane.plan() == Plan()


def test_what_others_noted_of_a_parent_stays() -> None:
    plane = two_parents({}, {})
    needed = plane.binding(CONFIG)["spec"]["requiredBy"]
    plane.change(CONFIG, requiredBy=[{**each, "note": each["name"]} for each in needed])
    plane.change(WEB, clusters=[{"name": "m3"}])
    plane.settle(WEB, JOB)
    noted = [each["note"] for each in plane.binding(CONFIG)["spec"]["requiredBy"]]
    assert noted == [WEB, JOB]


def test_an_attached_binding_that_goes_is_left_alone() -> None:
    plane = carrying("m1")
    plane.settle()
    plane.world.remove(Ref(API, KIND, "shop", CONFIG))
    assert plane.plan().again_in is not None
    plane.needs[WEB] = ()
    assert [Ref.of(getattr(each, "object", {})).name for each in plane.plan().actions] == [WEB]


def test_a_parent_without_a_place_keeps_what_it_has_and_attaches_nothing_new() -> None:
    plane = carrying("m1")
    plane.settle()
    plane.change(WEB, clusters=[])
    plane.needs[WEB] = needs("settings", "later")
    plane.world.put(config("later"))
    plane.settle()
    assert plane.binding(CONFIG)["spec"]["requiredBy"] == [{"namespace": "shop", "name": WEB}]
    assert plane.world.get(Ref(API, KIND, "shop", "later-configmap")) is None


PLACES = [
    pytest.param("elsewhere", "elsewhere", id="beside a dependency in another namespace"),
    pytest.param("", "shop", id="beside the parent of one in no namespace"),
]


@pytest.mark.parametrize(("namespace", "place"), PLACES)
def test_an_attached_binding_is_where_its_owner_may_be(namespace: str, place: str) -> None:
    wire = config("settings")
    wire["metadata"]["namespace"] = namespace
    wanted = (Dependency("v1", "ConfigMap", namespace, "settings"),)
    seen = SeenDependencies(
        ("shop", WEB), decode(parent(WEB, "m1")), dependencies=wanted, objects=[wire]
    )
    _, create = depending.plan(seen).actions
    assert isinstance(create, Create)
    assert Ref.of(create.object).namespace == place


def test_the_first_thing_done_is_to_hold_the_parent() -> None:
    first, second = carrying("m1").plan().actions
    assert isinstance(first, Update)
    assert isinstance(second, Create)
    assert Ref.of(first.object).name == WEB


NAMES = st.lists(st.sampled_from(["a", "b", "c"]), unique=True)
STEPS = st.lists(st.tuples(st.sampled_from([WEB, JOB]), st.integers(0, 3)), max_size=8)
ASKED = st.sampled_from([{}, OVERWRITE, PRESERVE])


@settings(max_examples=120)
@given(NAMES, NAMES, NAMES, ASKED, STEPS)
def test_stopped_anywhere_in_any_order_it_ends_alike(
    there: list[str], first: list[str], second: list[str], asked: Wire, steps: list[Any]
) -> None:
    planes = [Plane(parent(WEB, "m1", **asked), parent(JOB, "m2")) for _ in range(2)]
    for plane in planes:
        plane.needs = {WEB: needs(*first), JOB: needs(*second)}
        for each in there:
            plane.world.put(config(each))
    planes[0].settle(WEB, JOB)
    for name, stop in steps:
        stumble(planes[1].world, lambda n=name: planes[1].plan(n), [stop])
    planes[1].settle(WEB, JOB)
    assert _ends(planes[0]) == _ends(planes[1])
    for name, needed in ((WEB, first), (JOB, second)):
        attached = {
            each["spec"]["resource"]["name"]
            for each in planes[0].world.all(KIND)
            if any(by["name"] == name for by in each["spec"].get("requiredBy") or ())
        }
        assert attached == set(needed) & set(there)
        assert planes[0].plan(name) == Plan()


def _ends(plane: Plane) -> list[Wire]:
    """All bindings, whoever was attached first, and whatever versions servers gave."""
    ends = []
    for (_, name), wire in sorted(plane.world.contents().items()):
        spec = dict(wire.get("spec") or {})
        by = sorted(spec.pop("requiredBy", []), key=lambda each: each["name"])
        resource = {k: v for k, v in spec.get("resource", {}).items() if k != "resourceVersion"}
        ends.append({"name": name, **wire, "spec": {**spec, "resource": resource, "by": by}})
    return ends


def test_a_dependency_whose_name_is_too_long_is_left_behind_and_the_others_go() -> None:
    long = "x" * 250
    plane = carrying("m1")
    plane.needs[WEB] = needs(long, "settings")
    plane.world.put(config(long))
    for action in plane.plan().actions:
        plane.world.perform(action)
    assert plane.binding(CONFIG)["spec"]["requiredBy"]
    [told] = plane.world.told
    assert told.reason == "GetDependenciesFailed"
    assert f"ConfigMap shop/{long} cannot go along: the name has 250 characters" in told.message
    assert "use one that is 8 shorter" in told.message
