"""Every kind that Kubernetes has built in reaches push and pull members, changes and goes again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from wanted_objects import cluster_wide, policy
from world import Space, World, expect

from atoll.client.refusals import Missing
from atoll.wire import Wire

SAMPLES = Path(__file__).parent / "native_kinds.yaml"
MEMBERS = ["m1", "m3"]
# What is never sent, and why.
LEFT_OUT = {
    "": "no object is kept: reviews and requests",
    "Namespace": "comes with what is in it",
    "Event": "tells of one cluster",
    "Lease": "is somebody's heartbeat",
    "APIService": "says how one API server is put together",
    "CertificateSigningRequest": "is for the signers of one cluster",
    "ComponentStatus": "is made up when it is read",
    **dict.fromkeys(
        ["Node", "CSINode", "ResourceSlice", "VolumeAttachment", "IPAddress", "ServiceCIDR"],
        "tells of the machines and addresses of one cluster",
    ),
}


def samples() -> list[Wire]:
    found: list[Wire] = yaml.safe_load(SAMPLES.read_text())
    return found


def includes(found: Any, wanted: Any) -> bool:
    """Whether all that is wanted is found, whatever else there is."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and includes(found[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(includes, found, wanted))
    return bool(found == wanted)


def each_of(space: Space, wires: list[Wire], see: Callable[[Wire, str], object]) -> dict[str, Any]:
    """What is seen of which object in which member, by kind; only what is not True."""
    seen = {f"{wire['kind']} in {name}": see(wire, name) for wire in wires for name in MEMBERS}
    return {key: value for key, value in seen.items() if value is not True}


def check_life(space: Space, made: list[Wire], chosen: Wire) -> None:
    space.create(chosen)

    def arrived(wire: Wire, name: str) -> object:
        found = space.find(wire, name)
        return found is not None and (includes(found, wire) or found)

    expect(lambda: each_of(space, made, arrived), {})
    for wire in made:
        space.plane.patch(wire, {"metadata": {"labels": {"colour": "blue"}}})

    def changed(wire: Wire, name: str) -> object:
        found = space.find(wire, name) or {"metadata": {}}
        return (found["metadata"].get("labels") or {}).get("colour") == "blue"

    expect(lambda: each_of(space, made, changed), {})
    for wire in made:
        space.plane.delete(wire)
    expect(lambda: each_of(space, made, lambda wire, name: space.find(wire, name) is None), {})


def test_every_kind_of_a_namespace_arrives_changes_and_goes(space: Space) -> None:
    kinds = [each for each in samples() if each["metadata"]["name"] != "UNIQUE"]
    made = [space.create(each) for each in kinds]
    check_life(space, made, policy("all", made, MEMBERS))


def test_every_kind_without_a_namespace_arrives_changes_and_goes(space: Space) -> None:
    kinds = [each for each in samples() if each["metadata"]["name"] == "UNIQUE"]
    made = [space.create({**each, "metadata": {"name": space.name}}) for each in kinds]
    check_life(space, made, cluster_wide(policy(space.name, made, MEMBERS)))


def test_no_kind_is_forgotten(space: Space) -> None:
    have = {(each["apiVersion"].rpartition("/")[0], each["kind"]) for each in samples()}
    client = space.world.members["m1"].client
    groups = client.get("/apis")["groups"]
    served = [("", "/api/v1")]
    served += [
        (each["name"], f"/apis/{each['preferredVersion']['groupVersion']}") for each in groups
    ]
    missing = []
    for group, path in served:
        if group and "." in group and not group.endswith(".k8s.io"):
            continue
        for each in client.get(path)["resources"]:
            is_kept = {"create", "list"} <= set(each["verbs"]) and "/" not in each["name"]
            if is_kept and each["kind"] not in LEFT_OUT and (group, each["kind"]) not in have:
                missing.append(f"{path} {each['kind']}")
    # A definition of a kind has a scenario of its own.
    assert missing == ["/apis/apiextensions.k8s.io/v1 CustomResourceDefinition"]


def definition(group: str) -> Wire:
    fields = {"size": {"type": "integer"}, "colour": {"type": "string"}}
    spec = {"type": "object", "properties": fields}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Widget", "plural": "widgets", "singular": "widget"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def test_a_kind_of_ones_own_arrives_before_its_objects(space: Space) -> None:
    group = f"{space.name}.example.com"
    crd = space.create(definition(group))
    space.create(cluster_wide(policy(space.name, [crd], MEMBERS)))
    wire = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}}
    expect(lambda: _knows(space.world, wire), True)
    widget = space.create({**wire, "spec": {"size": 3, "colour": "red"}})
    space.create(policy("widgets", [widget], MEMBERS))
    expect(lambda: space.where(widget), MEMBERS)
    space.plane.patch(widget, {"spec": {"size": 4}})
    expect(
        lambda: [(space.find(widget, each) or {}).get("spec") for each in MEMBERS],
        2 * [{"size": 4, "colour": "red"}],
    )
    space.plane.delete(widget)
    expect(lambda: space.where(widget), [])


def _knows(world: World, wire: Wire) -> bool:
    try:
        return bool(world.plane.collection(wire["apiVersion"], wire["kind"]))
    except Missing:
        return False
