"""Karmada's kinds as CustomResourceDefinitions, from the one description of them, `kinds.json`.

In: kinds with their schemas, in which a shape that is used more than once has a name. Out: whole
definitions, with our own field `spec.atoll` and a sentence about each kind. What the embedded
server serves and what `make crds` prints for a real one come from here.
"""

from functools import cache
from pathlib import Path
from typing import Any

import orjson

from atoll.apiserver.karmada.additions import ADDITIONS
from atoll.wire import Wire

# In one sentence each, for `kubectl explain`.
_ABOUT = {
    "PropagationPolicy": "Says where the objects it selects in its namespace shall run.",
    "ClusterPropagationPolicy": "Says where the objects it selects in any namespace shall run.",
    "OverridePolicy": "Changes the objects it selects in its namespace, cluster by cluster.",
    "ClusterOverridePolicy": "Changes the objects it selects anywhere, cluster by cluster.",
    "ClusterTaintPolicy": "Taints clusters while conditions of theirs hold.",
    "ResourceBinding": "An object of a namespace with where it shall run, and how it fares there.",
    "ClusterResourceBinding": "An object without namespace with where it shall be, and how it is.",
    "Work": "What one cluster shall have, and what became of it.",
    "Cluster": "A member: how it is reached, what it offers, and how it is.",
    "ResourceInterpreterCustomization": "How objects of a kind are to be understood, as scripts.",
    "ResourceInterpreterWebhookConfiguration": "Whom to ask how objects are to be understood.",
    "WorkloadRebalancer": "Asks once for workloads to be placed anew.",
}
_CARRIES_ADDITIONS = {
    ("PropagationPolicy", "v1alpha1"),
    ("ClusterPropagationPolicy", "v1alpha1"),
    ("ResourceBinding", "v1alpha2"),
    ("ClusterResourceBinding", "v1alpha2"),
}
HEAD = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
}
"""What every object has, of whatever kind it is."""


@cache
def definitions() -> tuple[Wire, ...]:
    """The definition of every kind. Shared: not to be changed."""
    read = orjson.loads(Path(__file__).with_name("kinds.json").read_bytes())
    return tuple(
        definition_of(
            kind, [_version(kind["kind"], each, read["shapes"]) for each in kind["versions"]]
        )
        for kind in read["kinds"]
    )


def for_kubernetes(definition: Wire) -> Wire:
    """A definition as a real API server can take it: it serves only the version that is stored.

    The older version of the bindings keeps things in other places, and no conversion that a CRD
    can ask for without a webhook moves them: a write through it would lose the rest.
    """
    spec = definition["spec"]
    versions = [{**each, "served": each["storage"]} for each in spec["versions"]]
    return {**definition, "spec": {**spec, "versions": versions}}


def definition_of(kind: Wire, versions: list[Wire]) -> Wire:
    """The definition of a kind, given its names and its versions."""
    names = {
        "kind": kind["kind"],
        "listKind": f"{kind['kind']}List",
        "plural": kind["plural"],
        "singular": kind["kind"].lower(),
    }
    names |= {key: kind[key] for key in ("shortNames", "categories") if kind[key]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind['plural']}.{kind['group']}"},
        "spec": {
            "group": kind["group"],
            "names": names,
            "scope": kind["scope"],
            "conversion": {"strategy": "None"},
            "versions": versions,
        },
    }


def _version(kind: str, version: Wire, shapes: Wire) -> Wire:
    schema = _whole(version["schema"], shapes)
    properties = schema["properties"]
    if (kind, version["name"]) in _CARRIES_ADDITIONS:
        spec = properties["spec"]
        additions = {"atoll": ADDITIONS, **spec["properties"]}
        properties = {**properties, "spec": {**spec, "properties": additions}}
    found = {
        "name": version["name"],
        "served": version["served"],
        "storage": version["storage"],
        "schema": {
            "openAPIV3Schema": {
                "description": _ABOUT[kind],
                **schema,
                "properties": {**HEAD, **properties},
            }
        },
    }
    if version["subresources"]:
        found["subresources"] = version["subresources"]
    if version["columns"]:
        found["additionalPrinterColumns"] = version["columns"]
    return found


def _whole(node: Any, shapes: Wire) -> Any:
    """A schema with every named shape in its place."""
    if isinstance(node, list):
        return [_whole(each, shapes) for each in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("shape"), str):
        return _whole(shapes[node["shape"]], shapes)
    return {key: _whole(value, shapes) for key, value in node.items()}
