"""Karmada's kinds and ours as CustomResourceDefinitions, for a real kube-apiserver.

Without arguments, prints the manifests that `atoll run` gives its host, made from the one
description of the kinds in the product (`atoll/apiserver/karmada/kinds.json`,
`atoll/apiserver/placement`): `make -s crds | kubectl apply --server-side -f -`. With the paths of
two files of facts (Karmada's CRDs and aggregated kinds: fields by path with type, default and
rules), writes `kinds.json` anew. It holds shapes, not texts: descriptions are the product's.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from atoll.hosting.definitions import host_definitions

Json = dict[str, Any]

TARGET = Path(__file__).parents[1] / "atoll/apiserver/karmada/kinds.json"
SERVED = (
    "PropagationPolicy",
    "ClusterPropagationPolicy",
    "OverridePolicy",
    "ClusterOverridePolicy",
    "ClusterTaintPolicy",
    "ResourceBinding",
    "ClusterResourceBinding",
    "Work",
    "Cluster",
    "ResourceInterpreterCustomization",
    "ResourceInterpreterWebhookConfiguration",
    "WorkloadRebalancer",
)
QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
# What the facts of aggregated kinds do not say, since no CRD says it: names and columns.
CLUSTER = {
    "plural": "clusters",
    "scope": "Cluster",
    "shortNames": [],
    "categories": [],
    "served": True,
    "storage": True,
    "subresources": {"status": {}},
    "printerColumns": [
        {"name": "Version", "type": "string", "jsonPath": ".status.kubernetesVersion"},
        {"name": "Mode", "type": "string", "jsonPath": ".spec.syncMode"},
        {
            "name": "Ready",
            "type": "string",
            "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
        },
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Zones", "type": "string", "jsonPath": ".spec.zones", "priority": 1},
        {"name": "Region", "type": "string", "jsonPath": ".spec.region", "priority": 1},
        {"name": "Provider", "type": "string", "jsonPath": ".spec.provider", "priority": 1},
        {"name": "API-Endpoint", "type": "string", "jsonPath": ".spec.apiEndpoint", "priority": 1},
        {"name": "Proxy-URL", "type": "string", "jsonPath": ".spec.proxyURL", "priority": 1},
    ],
}
_PLAIN = (
    "default",
    "enum",
    "format",
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "maximum",
    "minimum",
    "pattern",
)
_STEP = re.compile(r"\.([^.\[{]+)|(\[\])|(\{\})")
_SHARED_MIN = 160  # characters of JSON from which a shape that occurs twice gets a name


def described(crds: list[Json], aggregated: list[Json]) -> Json:
    """The description of the kinds: shapes that are used more than once, and the kinds."""
    facts = [*crds, *({**CLUSTER, **one} for one in aggregated if one["kind"] == "Cluster")]
    kinds = []
    for kind in SERVED:
        versions = [one for one in facts if one["kind"] == kind]
        first = versions[0]
        names = {key: first[key] for key in ("group", "kind", "plural", "scope")}
        names |= {key: first[key] for key in ("shortNames", "categories")}
        kinds.append({**names, "versions": [_version(one) for one in versions]})
    shapes = _shared(kinds)
    return {"shapes": shapes, "kinds": kinds}


def _version(facts: Json) -> Json:
    return {
        "name": facts["version"],
        "served": facts["served"],
        "storage": facts["storage"],
        "subresources": facts["subresources"],
        "columns": facts["printerColumns"],
        "schema": _schema(facts["fields"]),
    }


def _schema(fields: dict[str, Json]) -> Json:
    """A schema from its fields by path; parents come before their children."""
    root: Json = {"type": "object"}
    for path in sorted(fields, key=lambda path: len(_STEP.findall(path))):
        steps = _STEP.findall(path) if path != "." else []
        if not steps:
            continue
        parent = root
        for step in steps[:-1]:
            parent = _inside(parent, step)
        key, is_item, _ = steps[-1]
        node = _node(fields[path], element=not key)
        if key:
            parent.setdefault("properties", {})[key] = node
            if fields[path].get("required"):
                parent["required"] = sorted([*parent.get("required", []), key])
        else:
            parent["items" if is_item else "additionalProperties"] = node
    _make_atomic(root)
    return root


def _inside(node: Json, step: tuple[str, str, str]) -> Json:
    key, is_item, _ = step
    found: Json = (
        node["properties"][key] if key else node["items" if is_item else "additionalProperties"]
    )
    return found


def _node(fact: Json, *, element: bool) -> Json:
    kind = fact["type"]
    node: Json = {key: fact[key] for key in _PLAIN if key in fact}
    # Go's zero values: of an element they mean nothing, and one the rules forbid is no default.
    if "default" in node and (
        element or node["default"] not in node.get("enum", [node["default"]])
    ):
        del node["default"]
    if kind in ("int-or-string", "Quantity"):
        node |= {"anyOf": [{"type": "integer"}, {"type": "string"}]}
        node |= {"pattern": QUANTITY} if kind == "Quantity" else {}
        node["x-kubernetes-int-or-string"] = True
    elif kind == "Time":
        node |= {"type": "string", "format": "date-time"}
    elif kind != "any":
        node["type"] = kind
    if fact.get("preserveUnknown"):
        node["x-kubernetes-preserve-unknown-fields"] = True
    if "listType" in fact:
        node["x-kubernetes-list-type"] = fact["listType"]
    return node


def _make_atomic(node: Json) -> None:
    """Selectors of Kubernetes' own are replaced as a whole, which the facts leave out."""
    properties = set(node.get("properties", {}))
    if properties in ({"matchExpressions", "matchLabels"}, {"matchExpressions", "matchFields"}):
        node["x-kubernetes-map-type"] = "atomic"
    if properties == {"nodeSelectorTerms"}:
        node["x-kubernetes-map-type"] = "atomic"
    for child in _children(node).values():
        _make_atomic(child)


def _children(node: Json) -> dict[str, Json]:
    found = dict(node.get("properties", {}))
    for key in ("items", "additionalProperties"):
        if key in node:
            found[key] = node[key]
    return found


def _shared(kinds: list[Json]) -> dict[str, Json]:
    """Take the shapes that occur more than once out of the kinds, under the names of fields."""
    schemas = [version["schema"] for kind in kinds for version in kind["versions"]]
    counts: Counter[str] = Counter()
    for schema in schemas:
        _count(schema, counts)
    shapes: dict[str, Json] = {}
    named: dict[str, str] = {}
    for schema in schemas:
        _name(schema, "", counts, named, shapes)
    return dict(sorted(shapes.items()))


def _count(node: Json, counts: Counter[str]) -> None:
    for child in _children(node).values():
        text = json.dumps(child, sort_keys=True)
        counts[text] += 1
        if counts[text] == 1:
            _count(child, counts)


def _name(
    node: Json, field: str, counts: Counter[str], named: dict[str, str], shapes: dict[str, Json]
) -> None:
    for key, child in _children(node).items():
        text = json.dumps(child, sort_keys=True)
        inner = field if key in ("items", "additionalProperties") else key
        if counts[text] < 2 or len(text) < _SHARED_MIN:
            _name(child, inner, counts, named, shapes)
            continue
        if text not in named:
            taken = sum(name.rstrip("0123456789") == inner for name in named.values())
            named[text] = f"{inner}{taken + 1}" if taken else inner
            _name(child, inner, counts, named, shapes)
            shapes[named[text]] = dict(child)
        child.clear()
        child["shape"] = named[text]


def _text(description: Json) -> str:
    """One shape or version per line, so that changes can be reviewed."""
    shapes = [f"{json.dumps(k)}:{_line(v)}" for k, v in description["shapes"].items()]
    kinds = []
    for kind in description["kinds"]:
        head = _line({key: value for key, value in kind.items() if key != "versions"})[:-1]
        versions = ",\n".join(map(_line, kind["versions"]))
        kinds.append(f'{head},"versions":[\n{versions}\n]}}')
    shaped, kinded = ",\n".join(shapes), ",\n".join(kinds)
    return f'{{"shapes":{{\n{shaped}\n}},\n"kinds":[\n{kinded}\n]}}\n'


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


class _Plain(yaml.SafeDumper):
    """Writes a value that occurs twice twice: not every reader knows references."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def main(arguments: list[str]) -> None:
    if arguments:
        crds, aggregated = (json.loads(Path(each).read_text()) for each in arguments)
        TARGET.write_text(_text(described(crds, aggregated)))
        return
    yaml.dump_all(
        host_definitions(), sys.stdout, Dumper=_Plain, sort_keys=False, allow_unicode=True
    )


if __name__ == "__main__":
    main(sys.argv[1:])
