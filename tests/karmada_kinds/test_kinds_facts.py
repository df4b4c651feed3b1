"""The definitions we serve and print, field for field against the facts about Karmada's.

`crds.json` and `aggregated.json` hold what Karmada v1.18 says of its kinds: every field by its path
with type, default and rules. What may differ is listed here, and must be needed.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from atoll.apiserver.karmada.additions import ADDITIONS
from atoll.apiserver.karmada.definitions import definitions, for_kubernetes
from atoll.apiserver.placement.definitions import own_definitions
from atoll.apiserver.schemas.definitions import definition_errors, definition_warnings
from scripts.crds import QUANTITY, described

HERE = Path(__file__).parent
CRDS = json.loads((HERE / "crds.json").read_text())
AGGREGATED = json.loads((HERE / "aggregated.json").read_text())
FACTS = {(one["kind"], one["version"]): one for one in [*CRDS, *AGGREGATED]}
SERVED = {
    (definition["spec"]["names"]["kind"], version["name"]): (definition, version)
    for definition in definitions()
    for version in definition["spec"]["versions"]
}
IDS = [f"{kind}-{version}" for kind, version in FACTS]
PLAIN = ("default", "enum", "format", "maxLength", "minLength", "minItems", "maximum", "minimum")
PLAIN = (*PLAIN, "maxItems", "pattern")
# Go's zero values, written down by a generator: an element of a list or map has no default, and an
# effect that the very rules forbid is none.
NO_DEFAULTS = {
    ".spec.proxyHeader{}",
    ".spec.zones[]",
    ".spec.taints[].effect",
    ".status.remedyActions[]",
}
ADDED = {"PropagationPolicy", "ClusterPropagationPolicy"}
ADDED_NEWER = {"ResourceBinding", "ClusterResourceBinding"}


def fields_of(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A schema in the notation of the facts."""
    found = {".": {"type": "object"}}
    for key, child in schema["properties"].items():
        if key not in ("apiVersion", "kind", "metadata"):
            walk(child, f".{key}", found, required=key in schema.get("required", []))
    return found


def walk(
    node: dict[str, Any], path: str, found: dict[str, dict[str, Any]], *, required: bool
) -> None:
    fact = {key: node[key] for key in PLAIN if key in node}
    fact["type"] = node.get("type", "any")
    if node.get("x-kubernetes-int-or-string"):
        assert node["anyOf"] == [{"type": "integer"}, {"type": "string"}]
        fact["type"] = "int-or-string"
    if required:
        fact["required"] = True
    if node.get("x-kubernetes-preserve-unknown-fields"):
        fact["preserveUnknown"] = True
    if "x-kubernetes-list-type" in node:
        fact["listType"] = node["x-kubernetes-list-type"]
    found[path] = fact
    for key, child in node.get("properties", {}).items():
        walk(child, f"{path}.{key}", found, required=key in node.get("required", []))
    if "items" in node:
        walk(node["items"], f"{path}[]", found, required=False)
    if "additionalProperties" in node:
        walk(node["additionalProperties"], f"{path}{{}}", found, required=False)


def expected(facts: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The facts, with the types of aggregated kinds spelled out as CRDs spell them."""
    wanted = {}
    for path, fact in facts["fields"].items():
        fact = dict(fact)
        if fact["type"] == "Quantity":
            fact |= {"type": "int-or-string", "pattern": QUANTITY}
        if fact["type"] == "Time":
            fact |= {"type": "string", "format": "date-time"}
        if facts["kind"] == "Cluster" and path in NO_DEFAULTS:
            assert fact.pop("default") == ""
        wanted[path] = fact
    return wanted


def test_every_kind_of_the_facts_is_served_and_no_other():
    assert SERVED.keys() == FACTS.keys()


@pytest.mark.parametrize("which", FACTS, ids=IDS)
def test_fields_are_those_of_the_facts_but_for_our_own(which):
    found = fields_of(SERVED[which][1]["schema"]["openAPIV3Schema"])
    ours = {path for path in found if path == ".spec.atoll" or path.startswith(".spec.atoll.")}
    kind, version = which
    assert bool(ours) == (kind in ADDED or (kind in ADDED_NEWER and version == "v1alpha2"))
    assert {path: fact for path, fact in found.items() if path not in ours} == expected(
        FACTS[which]
    )


@pytest.mark.parametrize("which", FACTS, ids=IDS)
def test_names_columns_and_subresources_are_those_of_the_facts(which):
    (definition, version), facts = SERVED[which], FACTS[which]
    spec = definition["spec"]
    assert (spec["group"], definition["metadata"]["name"]) == (
        facts["group"],
        f"{spec['names']['plural']}.{facts['group']}",
    )
    if facts in CRDS:
        assert (spec["scope"], spec["names"]["plural"]) == (facts["scope"], facts["plural"])
        assert spec["names"].get("shortNames", []) == facts["shortNames"]
        assert spec["names"].get("categories", []) == facts["categories"]
        assert version.get("additionalPrinterColumns", []) == facts["printerColumns"]
        assert version.get("subresources", {}) == facts["subresources"]
        assert (version["served"], version["storage"]) == (facts["served"], facts["storage"])


def test_the_description_in_the_product_is_the_one_the_facts_give():
    written = json.loads((HERE.parents[1] / "atoll/apiserver/karmada/kinds.json").read_text())
    assert described(CRDS, AGGREGATED) == written


@pytest.mark.parametrize(
    "definition",
    [*definitions(), *own_definitions()],
    ids=lambda one: one["metadata"]["name"],
)
def test_a_real_server_is_given_what_it_takes_and_can_convert(definition):
    manifest = for_kubernetes(definition)
    assert definition_errors(manifest) == []
    assert definition_warnings(manifest) == []
    assert [one["name"] for one in manifest["spec"]["versions"] if one["served"]] == [
        one["name"] for one in manifest["spec"]["versions"] if one["storage"]
    ]


def described_everywhere(schema: dict[str, Any]) -> bool:
    own = all("description" in one for one in schema.get("properties", {}).values())
    inner = [*schema.get("properties", {}).values()]
    inner += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    return own and all(map(described_everywhere, inner))


def test_every_field_of_our_own_and_every_kind_has_a_description():
    schemas = [one["spec"]["versions"][0]["schema"] for one in own_definitions()]
    for ours in (ADDITIONS, *(one["openAPIV3Schema"] for one in schemas)):
        assert "description" in ours
        head = {"apiVersion", "kind", "metadata"}
        own = {key: one for key, one in ours["properties"].items() if key not in head}
        assert described_everywhere({**ours, "properties": own})
    assert all(
        version["schema"]["openAPIV3Schema"]["description"] for _, version in SERVED.values()
    )
