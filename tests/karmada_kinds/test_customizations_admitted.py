"""Customizations whose scripts cannot work, or say what others say already, are refused."""

import pytest
from karmada_plane import Asking
from karmada_samples import BY_KIND

from atoll.wire import Wire

KIND = "ResourceInterpreterCustomization"
HEALTH = "function InterpretHealth(obj) return true end"
DEPENDENCIES = "function GetDependencies(obj) return {} end"


def customization(name: str, kind: str, **scripts: str) -> Wire:
    return {
        **BY_KIND[KIND].named(name),
        "spec": {
            "target": {"apiVersion": "example.io/v1", "kind": kind},
            "customizations": {field: {"luaScript": script} for field, script in scripts.items()},
        },
    }


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        pytest.param("function Retain(", "script:1:", id="does not compile"),
        pytest.param("function Keep() end", "does not define the function Retain", id="lacks it"),
        pytest.param("Retain = 7", "does not define the function Retain", id="is no function"),
        pytest.param("error('at once')", "at once", id="fails"),
        pytest.param("while true do end", "ran longer than 1 s", id="never ends"),
        pytest.param("\x1bLua", "compiled Lua is not accepted", id="is compiled"),
    ],
)
def test_a_script_that_cannot_work_is_refused_by_field(
    plane: Asking, name: str, script: str, problem: str
) -> None:
    sent = customization(name, name, retention=script, healthInterpretation=HEALTH)
    refusal = plane.refused("POST", BY_KIND[KIND].path(), sent, 422)
    (cause,) = refusal["details"]["causes"]
    assert cause["field"] == "spec.customizations.retention.luaScript"
    assert problem in cause["message"]
    status, _ = plane.ask("GET", BY_KIND[KIND].path(name))
    assert status == 404


def test_one_customization_explains_an_operation_of_a_kind(plane: Asking, name: str) -> None:
    path, first = BY_KIND[KIND].path(), f"{name}-a"
    made = plane.done("POST", path, customization(first, name, healthInterpretation=HEALTH))
    plane.done("PUT", BY_KIND[KIND].path(first), made)
    again = customization(f"{name}-b", name, healthInterpretation=HEALTH)
    refusal = plane.refused("POST", path, again, 422)
    sentence = f"InterpreterOperation(InterpretHealth) of existing {KIND}({first})"
    assert f"conflicting with {sentence}" in refusal["message"]
    plane.done("POST", path, customization(f"{name}-c", f"{name}-x", healthInterpretation=HEALTH))
    retained = "function Retain(desired, observed) return desired end"
    other = plane.done("POST", path, customization(f"{name}-d", name, retention=retained))
    other["spec"]["customizations"]["healthInterpretation"] = {"luaScript": HEALTH}
    assert sentence in plane.refused("PUT", BY_KIND[KIND].path(f"{name}-d"), other, 422)["message"]


def test_several_may_give_dependencies(plane: Asking, name: str) -> None:
    for each in ("a", "b"):
        sent = customization(f"{name}-{each}", name, dependencyInterpretation=DEPENDENCIES)
        assert plane.done("POST", BY_KIND[KIND].path(), sent)["spec"] == sent["spec"]
