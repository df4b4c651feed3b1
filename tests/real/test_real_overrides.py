"""What differs from cluster to cluster: every kind of overrider, as the members see it."""

from collections.abc import Callable
from typing import Any

from wanted_objects import cluster_wide, configmap, deployment, override, policy
from world import Space, expect

from atoll.wire import Wire

CLUSTERS = ["m1", "m3"]


def container(wire: Wire) -> Wire:
    found: Wire = wire["spec"]["template"]["spec"]["containers"][0]
    return found


def image(component: str, operator: str, value: str = "") -> Wire:
    return {"imageOverrider": [{"component": component, "operator": operator, "value": value}]}


def command(operator: str, *value: str) -> list[Wire]:
    return [{"containerName": "main", "operator": operator, "value": list(value)}]


def texts(operator: str, **value: str) -> list[Wire]:
    return [{"operator": operator, "value": value}]


def plain(operator: str, path: str, value: Any = None) -> Wire:
    patch = {"operator": operator, "path": path}
    return {"plaintext": [patch if value is None else {**patch, "value": value}]}


PODS = "/spec/template/spec"


def image_of(wire: Wire) -> Any:
    return container(wire)["image"]


def command_of(wire: Wire) -> Any:
    return container(wire).get("command")


def args_of(wire: Wire) -> Any:
    return container(wire)["args"]


def tier_of(wire: Wire) -> Any:
    return wire["metadata"]["labels"].get("tier")


def note_of(wire: Wire) -> Any:
    return (wire["metadata"].get("annotations") or {}).get("note")


def nodes_of(wire: Wire) -> Any:
    return wire["spec"]["template"]["spec"].get("nodeSelector")


Rule = tuple[Wire, Callable[[Wire], Any], Any]
OVERRIDERS: dict[str, Rule] = {
    "registry": (image("Registry", "replace", "near.io"), image_of, "near.io/web:1"),
    "repository": (image("Repository", "replace", "site"), image_of, "registry.example.com/site:1"),
    "tag": (image("Tag", "replace", "2"), image_of, "registry.example.com/web:2"),
    "no-tag": (image("Tag", "remove"), image_of, "registry.example.com/web"),
    "command": ({"commandOverrider": command("add", "-v")}, command_of, ["serve", "-v"]),
    "args": ({"argsOverrider": command("remove", "b")}, args_of, ["a"]),
    "new-label": ({"labelsOverrider": texts("add", tier="edge")}, tier_of, "edge"),
    "other-label": ({"labelsOverrider": texts("replace", tier="edge")}, tier_of, None),
    "annotation": ({"annotationsOverrider": texts("add", note="n")}, note_of, "n"),
    "plain": (plain("replace", "/spec/replicas", 1), lambda wire: wire["spec"]["replicas"], 1),
    "plain-new": (plain("add", f"{PODS}/nodeSelector", {"a": "b"}), nodes_of, {"a": "b"}),
    "plain-gone": (plain("remove", f"{PODS}/containers/0/command"), command_of, None),
}


def test_every_overrider_changes_what_its_cluster_gets_and_no_other(space: Space) -> None:
    made = {}
    for name, (overriders, _, _) in OVERRIDERS.items():
        asked = deployment(name, replicas=0)
        container(asked).update(command=["serve"], args=["a", "b"])
        space.create(override(name, [asked], (["m3"], overriders)))
        made[name] = space.create(asked)
    space.create(policy("all", list(made.values()), CLUSTERS))
    for wire in made.values():
        expect(lambda wire=wire: space.where(wire), CLUSTERS)
    seen, plainly = {}, {}
    for name, (_, see, _) in OVERRIDERS.items():
        here, there = space.find(made[name], "m1"), space.find(made[name], "m3")
        assert here is not None
        assert there is not None
        seen[name] = see(there)
        plainly[name] = (see(here), see(made[name]))
    assert seen == {name: wanted for name, (_, _, wanted) in OVERRIDERS.items()}
    assert {name: here for name, (here, _) in plainly.items()} == {
        name: asked for name, (_, asked) in plainly.items()
    }


def test_fields_inside_a_text_are_overridden(space: Space) -> None:
    asked = configmap("settings", **{"app.yaml": "db:\n  host: here\n  port: 1\n"})
    field = {
        "fieldPath": "/data/app.yaml",
        "yaml": [{"subPath": "/db/host", "operator": "replace", "value": "there"}],
    }
    space.create(override("settings", [asked], (["m1"], {"fieldOverrider": [field]})))
    settings = space.create(asked)
    space.create(policy("settings", [settings], CLUSTERS))
    expect(lambda: space.where(settings), CLUSTERS)
    texts = {name: (space.find(settings, name) or {})["data"]["app.yaml"] for name in CLUSTERS}
    assert "host: there" in texts["m1"]
    assert "port: 1" in texts["m1"]
    assert texts["m3"] == asked["data"]["app.yaml"]


def test_overrides_for_all_namespaces_come_first_and_changes_of_them_follow(space: Space) -> None:
    asked = {**configmap("settings", colour="none", size="none"), "metadata": {"name": space.name}}
    wide = cluster_wide(
        override(space.name, [asked], (CLUSTERS, plain("replace", "/data/colour", "red")))
    )
    space.create(wide)
    own = space.create(override("own", [asked], (["m1"], plain("replace", "/data/colour", "blue"))))
    settings = space.create(asked)
    space.create(policy("settings", [settings], CLUSTERS))

    def colours() -> list[Any]:
        return [
            (space.find(settings, name) or {"data": {}})["data"].get("colour") for name in CLUSTERS
        ]

    expect(colours, ["blue", "red"])
    rule = own["spec"]["overrideRules"][0]
    changed = {**rule, "overriders": plain("replace", "/data/size", "large")}
    space.plane.patch(own, {"spec": {"overrideRules": [changed]}})
    expect(colours, ["red", "red"])
    found = space.find(settings, "m1")
    assert found is not None
    assert found["data"]["size"] == "large"
    space.plane.delete(own)
    expect(lambda: (space.find(settings, "m1") or {})["data"]["size"], "none")
