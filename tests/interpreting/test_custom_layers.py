"""What users' customizations know of their kinds, and whom they win over."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from interpreting_builders import make, make_items, make_workload

from atoll.errors import Invalid
from atoll.interpreting.builtin import NATIVE
from atoll.interpreting.customizing import Answer, layer, scripts
from atoll.interpreting.kinds import DEPLOYMENT
from atoll.interpreting.operations import Dependency, Interpreters, Item, Operation
from atoll.interpreting.shapes import restored
from atoll.lua.pool import Pool
from atoll.model.action import Ref
from atoll.model.health import Health
from atoll.wire import Wire

WIDGET = ("example.io/v1", "Widget")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(size=1) as workers:
        yield workers


def customization(name: str = "widgets", kind: tuple[str, str] = WIDGET, /, **sources: str) -> Wire:
    return {
        "apiVersion": "config.karmada.io/v1alpha1",
        "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": name},
        "spec": {
            "target": {"apiVersion": kind[0], "kind": kind[1]},
            "customizations": {field: {"luaScript": each} for field, each in sources.items()},
        },
    }


def interpreters(pool: Pool, *customizations: Wire) -> Interpreters:
    return Interpreters((layer(customizations, pool.call), NATIVE))


def knowing(pool: Pool, **sources: str) -> Interpreters:
    return interpreters(pool, customization(**sources))


def test_replicas_and_what_each_needs(pool: Pool) -> None:
    script = """
        local kube = require("kube")
        function GetReplicas(obj)
          return obj.spec.size, kube.accuratePodRequirements(obj.spec.template)
        end"""
    pod = {"containers": [{"name": "a", "resources": {"requests": {"cpu": "500m"}}}]}
    known = knowing(pool, replicaResource=script)
    found = known.replicas(make(WIDGET, spec={"size": 3, "template": {"spec": pod}}))
    assert found is not None
    assert (found.count, found.requirements) == (3, {"resourceRequest": {"cpu": "500m"}})
    assert found.demand is not None
    assert found.demand.namespace == "shop"
    assert [resource for resource, _ in found.demand.requests] == ["cpu"]


def test_quantities_are_written_as_the_api_does(pool: Pool) -> None:
    script = """function GetReplicas(obj)
      return 1, {resourceRequest = {cpu = 2, memory = "1408.000000Mi", gpu = "1e3", disk = "1.5"}}
    end"""
    assert knowing(pool, replicaResource=script).replicas(make(WIDGET)).requirements == {
        "resourceRequest": {"cpu": "2", "memory": "1408Mi", "gpu": "1k", "disk": "1500m"}
    }


def test_without_reports_there_is_no_list(pool: Pool) -> None:
    script = "function AggregateStatus(o, items) o.status = {none = items == nil} return o end"
    known = knowing(pool, statusAggregation=script)
    assert known.aggregate(make(WIDGET), ()) == {"none": True}
    assert known.aggregate(make(WIDGET), (Item("m1"),)) == {"none": False}


def test_the_order_of_fields_does_not_matter(pool: Pool) -> None:
    script = """function ReflectStatus(o)
      local names = {}
      for name in pairs(o.status) do names[#names + 1] = name end
      return {names = names}
    end"""
    known = knowing(pool, statusReflection=script)
    status = {f"field-{number}": number for number in range(50)}
    backwards = dict(reversed(status.items()))
    assert known.reflect(make(WIDGET, status=status)) == known.reflect(
        make(WIDGET, status=backwards)
    )


def test_replicas_without_needs_and_with_a_fraction(pool: Pool) -> None:
    known = knowing(pool, replicaResource="function GetReplicas(obj) return obj.n / 2 end")
    assert (found := known.replicas(make(WIDGET, n=5))) is not None
    assert (found.count, found.requirements, found.demand) == (2, None, None)


def test_components(pool: Pool) -> None:
    script = """function GetComponents(obj)
      return {{name = "a", replicas = 2, replicaRequirements = {resourceRequest = {cpu = "1"}}},
              {name = "b", replicas = 1, replicaRequirements = {}}}
    end"""
    assert knowing(pool, componentResource=script).components(make(WIDGET)) == (
        {"name": "a", "replicas": 2, "replicaRequirements": {"resourceRequest": {"cpu": "1"}}},
        {"name": "b", "replicas": 1},
    )
    none = knowing(pool, componentResource="function GetComponents(obj) return nil end")
    assert none.components(make(WIDGET)) == ()
    assert Interpreters((NATIVE,)).components(make(DEPLOYMENT)) == ()


def test_a_revised_object_keeps_its_shape(pool: Pool) -> None:
    script = "function ReviseReplica(obj, n) obj.spec.size = n obj.spec.new = {} return obj end"
    spec = {"size": 1, "volumes": [{"emptyDir": {}}], "args": [], "large": 2**60 + 1}
    template = make(WIDGET, spec=spec)
    revised = knowing(pool, replicaRevision=script).revise(template, 7)
    assert revised == make(WIDGET, spec={**spec, "size": 7})
    assert template["spec"]["size"] == 1


def test_retained_fields_come_from_the_member(pool: Pool) -> None:
    script = """function Retain(desired, observed)
      desired.spec.address = observed.spec.address
      desired.spec.seen = observed.spec.seen
      return desired
    end"""
    desired = make(WIDGET, spec={"size": 1, "selector": {}})
    observed = make(WIDGET, spec={"size": 2, "address": "10.0.0.1", "seen": []})
    kept = {"size": 1, "selector": {}, "address": "10.0.0.1", "seen": []}
    assert knowing(pool, retention=script).retain(desired, observed)["spec"] == kept


def test_statuses_are_summed(pool: Pool) -> None:
    script = """function AggregateStatus(desired, items)
      desired.status = desired.status or {}
      local ready, names, healthy = 0, {}, 0
      for _, item in ipairs(items or {}) do
        if item.status ~= nil then ready = ready + item.status.ready end
        if item.health == "Healthy" and item.applied then healthy = healthy + 1 end
        names[#names + 1] = item.clusterName
      end
      desired.status = {ready = ready, clusters = names, healthy = healthy, conditions = {}}
      return desired
    end"""
    known = knowing(pool, statusAggregation=script)
    items = (
        Item("m1", {"ready": 2, "conditions": []}, applied=True, health=Health.HEALTHY),
        Item("m2", {"ready": 3}, applied=True, health=Health.UNHEALTHY),
        Item("m3"),
    )
    summed = {"ready": 5, "clusters": ["m1", "m2", "m3"], "healthy": 1, "conditions": []}
    assert known.aggregate(make(WIDGET), items) == summed
    without = {**summed, "ready": 0, "clusters": [], "healthy": 0}
    del without["clusters"], without["conditions"]
    assert known.aggregate(make(WIDGET), ()) == without


def test_a_status_is_reflected(pool: Pool) -> None:
    script = "function ReflectStatus(o) return {ready = o.status.ready, list = o.status.list} end"
    known = knowing(pool, statusReflection=script)
    assert known.reflect(make(WIDGET, status={"ready": 1, "list": [], "x": 2})) == {
        "ready": 1,
        "list": [],
    }
    empty = knowing(pool, statusReflection="function ReflectStatus(o) return {} end")
    assert empty.reflect(make(WIDGET)) == {}


def test_health(pool: Pool) -> None:
    script = "function InterpretHealth(o) return o.status.ready > 0 end"
    known = knowing(pool, healthInterpretation=script)
    assert known.health(make(WIDGET, status={"ready": 1})) is Health.HEALTHY
    assert known.health(make(WIDGET, status={"ready": 0})) is Health.UNHEALTHY
    with pytest.raises(Invalid, match="InterpretHealth"):
        known.health(make(WIDGET))


def depending(*names: str) -> str:
    one = "{{apiVersion = 'v1', kind = 'Secret', namespace = 'shop', name = '{}'}}"
    listed = ", ".join(one.format(name) for name in names)
    return f"function GetDependencies(obj) return {{{listed}}} end"


def test_dependencies_of_several_customizations_are_taken_together(pool: Pool) -> None:
    selecting = """function GetDependencies(obj)
      return {{apiVersion = 'v1', kind = 'ConfigMap', namespace = 'shop',
               labelSelector = {matchLabels = {app = 'web'}, matchExpressions = {}}}}
    end"""
    known = interpreters(
        pool,
        customization("b", dependencyInterpretation=depending("y", "x")),
        customization("a", dependencyInterpretation=depending("z", "x")),
        customization("c", dependencyInterpretation=selecting),
        customization("d", dependencyInterpretation=depending()),
    )
    assert known.dependencies(make(WIDGET)) == (
        Dependency("v1", "ConfigMap", "shop", selector={"matchLabels": {"app": "web"}}),
        *(Dependency("v1", "Secret", "shop", name) for name in "xyz"),
    )


def test_the_first_by_name_wins_one_operation_at_a_time(pool: Pool) -> None:
    def counting(count: int) -> str:
        return f"function GetReplicas(obj) return {count} end"

    healthy = "function InterpretHealth(obj) return false end"
    known = interpreters(
        pool,
        customization("b", replicaResource=counting(2), healthInterpretation=healthy),
        customization("a", replicaResource=counting(1), healthInterpretation=""),
        customization("0", ("example.io/v1", "Other"), replicaResource=counting(9)),
    )
    assert (found := known.replicas(make(WIDGET))) is not None
    assert found.count == 1
    assert known.health(make(WIDGET)) is Health.UNHEALTHY


def test_customizations_win_over_what_atoll_knows_itself(pool: Pool) -> None:
    twice = "function GetReplicas(obj) return obj.spec.replicas * 2 end"
    known = interpreters(pool, customization("d", DEPLOYMENT, replicaResource=twice))
    template = make_workload(DEPLOYMENT, replicas=4)
    assert (found := known.replicas(template)) is not None
    assert found.count == 8
    assert known.revise(template, 1)["spec"]["replicas"] == 1  # as before
    assert known.aggregate(template, make_items(m1={"replicas": 1})) is not None


def test_what_is_customized_is_known(pool: Pool) -> None:
    known = knowing(pool, retention="function Retain(a, b) return a end")
    widget = Ref(*WIDGET, "shop", "web")
    has = {operation for operation in Operation if known.has(widget, operation)}
    assert has == {Operation.RETAIN}
    assert [each.function for each in scripts(customization(retention="x", replicaRevision="y"))]
    assert scripts(customization(retention="")) == ()


def test_an_error_is_not_covered_up_by_what_atoll_knows(pool: Pool) -> None:
    failing = customization("d", DEPLOYMENT, replicaResource="function GetReplicas(o) x() end")
    with pytest.raises(Invalid) as caught:
        interpreters(pool, failing).replicas(make_workload(DEPLOYMENT, replicas=4))
    assert str(caught.value) == (
        "ResourceInterpreterCustomization/d: spec.customizations.replicaResource.luaScript: "
        "'GetReplicas': script:1: attempt to call global 'x' (a nil value)"
    )


ITEM = Item("m1", {"ready": 1})
ASKED = {
    "replicaResource": lambda known, wire: known.replicas(wire),
    "componentResource": lambda known, wire: known.components(wire),
    "replicaRevision": lambda known, wire: known.revise(wire, 2),
    "retention": lambda known, wire: known.retain(wire, wire),
    "statusAggregation": lambda known, wire: known.aggregate(wire, (ITEM,)),
    "statusReflection": lambda known, wire: known.reflect(wire),
    "healthInterpretation": lambda known, wire: known.layers[0][WIDGET].health(wire),
    "dependencyInterpretation": lambda known, wire: known.dependencies(wire),
}


@pytest.mark.parametrize(
    ("field", "values", "said"),
    [
        ("replicaResource", (None,), "must return a number of replicas first, not nil"),
        ("replicaResource", ("3",), "must return a number of replicas first, not text '3'"),
        ("replicaResource", (True,), "not bool 'True'"),
        ("replicaResource", (-1,), "from 0 to 2147483647 replicas, not int '-1'"),
        ("replicaResource", (2**40,), "from 0 to 2147483647 replicas"),
        ("replicaResource", (1, "x"), "a table of requirements or nil second, not text 'x'"),
        ("replicaResource", (1, [1]), "a table of requirements or nil second, not a list"),
        (
            "replicaResource",
            (1, {"resourceRequest": {"cpu": "lots"}}),
            "requirement.resourceRequest[cpu]: 'lots': is no quantity",
        ),
        ("componentResource", ({"a": 1},), "must return a list of components, not a table with"),
        ("componentResource", ([{"replicas": 1}],), "components[0].name: '': must be given"),
        ("componentResource", ([{"name": "a", "replicas": -1}],), "components[0].replicas: -1:"),
        (
            "componentResource",
            ([{"name": "a", "replicaRequirements": {"resourceRequest": {"cpu": "x"}}}],),
            "components[0].replicaRequirements.resourceRequest[cpu]: 'x': is no quantity",
        ),
        ("replicaRevision", (None,), "must return a table, not nil"),
        ("replicaRevision", ([1],), "must return the object, not a list"),
        ("replicaRevision", ({"kind": "Widget"},), "must not change what the object is"),
        ("retention", (make(WIDGET, metadata={"name": "other"}),), "'web' became 'other'"),
        ("retention", (make(WIDGET, metadata={"name": 3}),), "metadata.name: 3: must be text"),
        ("statusAggregation", ([1],), "must return the object with its status, not a list"),
        ("statusAggregation", ({"status": "fine"},), "whose status is a table, not text 'fine'"),
        ("statusReflection", ("fine",), "must return a table, not text 'fine'"),
        ("statusReflection", ([1],), "must return a status with names as keys, not a list"),
        ("healthInterpretation", ("yes",), "must return true or false, not text 'yes'"),
        ("healthInterpretation", (), "must return true or false, not nil"),
        ("dependencyInterpretation", (None,), "must return a table, not nil"),
        ("dependencyInterpretation", ({"a": 1},), "dependencies: {'a': 1}: must be a list"),
        ("dependencyInterpretation", (["x"],), "dependencies[0]: 'x': must be an object"),
        (
            "dependencyInterpretation",
            ([{"apiVersion": "v1", "kind": "Secret"}],),
            "must have a name or a labelSelector",
        ),
        ("dependencyInterpretation", ([{"name": "x"}],), "dependencies[0].apiVersion: '': must"),
    ],
)
def test_nonsense_is_said_to_be_so(field: str, values: tuple[Any, ...], said: str) -> None:
    def run(script: str, function: str, args: tuple[Any, ...]) -> Answer:
        return Answer(values)

    known = Interpreters((layer([customization(**{field: "x"})], run), NATIVE))
    with pytest.raises(Invalid) as caught:
        ASKED[field](known, make(WIDGET))
    named = f"ResourceInterpreterCustomization/widgets: spec.customizations.{field}.luaScript"
    assert caught.value.field == named
    assert said in caught.value.problem


@pytest.mark.parametrize("field", ASKED)
def test_a_script_that_is_stopped_is_said_to_be_so(field: str) -> None:
    def run(script: str, function: str, args: tuple[Any, ...]) -> Answer:
        return Answer(error="ran longer than 1 s and was stopped", stopped=True)

    known = Interpreters((layer([customization(**{field: "x"})], run), NATIVE))
    with pytest.raises(Invalid, match="ran longer than 1 s and was stopped"):
        ASKED[field](known, make(WIDGET))


@pytest.mark.parametrize(
    ("value", "originals", "expected"),
    [
        pytest.param({"a": []}, [{"a": {}}], {"a": {}}, id="an object"),
        pytest.param({"a": []}, [{"a": []}], {"a": []}, id="a list"),
        pytest.param({"a": [], "b": 1}, [{}], {"b": 1}, id="new and empty"),
        pytest.param({"a": []}, [{"a": []}, {"a": {}}], {"a": {}}, id="both"),
        pytest.param({"a": []}, [{"a": {"x": 1}}], {}, id="emptied"),
        pytest.param(
            {"l": [{"v": []}, {"v": []}]}, [{"l": [{"v": {}}]}], {"l": [{"v": {}}] * 2}, id="deep"
        ),
        pytest.param({"l": [[]]}, [{"l": [{}]}], {"l": [{}]}, id="elements"),
        pytest.param({"l": [[], 1]}, [{}], {"l": [1]}, id="new elements"),
        pytest.param({"n": 2**60}, [{"n": 2**60 + 1}], {"n": 2**60 + 1}, id="large numbers"),
        pytest.param({"n": 2}, [{"n": 2.0}], {"n": 2.0}, id="whole floats"),
        pytest.param({"n": 3, "t": True}, [{"n": 2, "t": 1}], {"n": 3, "t": True}, id="others"),
    ],
)
def test_shapes_are_restored(value: Any, originals: list[Any], expected: Any) -> None:
    found = restored(value, originals)
    assert found == expected
    assert repr(found) == repr(expected)


NAMES = st.text(st.characters(codec="utf-8"), max_size=6)
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    NAMES,
)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=3),
    max_leaves=20,
)


def empties(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], type]]:
    """Where a value has empty lists and objects; elements share the path of their list."""
    if value in ({}, []) and not isinstance(value, bool):
        yield path, type(value)
    elif isinstance(value, list):
        for each in value:
            yield from empties(each, path)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from empties(each, (*path, key))


@settings(max_examples=150, deadline=None)
@given(spec=st.dictionaries(NAMES, VALUES, max_size=4))
def test_a_script_that_changes_nothing_changes_nothing(pool: Pool, spec: Wire) -> None:
    found = list(empties(spec))
    assume(len(dict(found)) == len(set(found)))  # nobody could tell those apart
    template = make(WIDGET, spec=spec)
    known = knowing(pool, replicaRevision="function ReviseReplica(obj, n) return obj end")
    revised = known.revise(template, 1)
    assert revised == template
    assert sorted(map(repr, empties(revised))) == sorted(map(repr, empties(template)))
