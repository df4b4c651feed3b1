"""Writes atoll/apiserver/schemas/kubernetes.json: what the real API server says of its kinds.

In: the OpenAPI v3 and discovery documents of the testenv's kube-apiserver, and the protobuf tags of
the Go structs it is built from (`messages`). Out: one JSON file with one definition per line, so
that a new Kubernetes version can be reviewed as a diff. Descriptions are left out; everything else
is kept as served. Run it with `make facts`.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from scripts.messages import messages
from testenv.cluster import kubernetes

Json = dict[str, Any]
Get = Callable[[str, str], Any]  # (path, Accept) -> the decoded document

# The API groups and versions Atoll serves. Widen this, run `make facts`, review the diff.
SERVED = (
    ("", "v1"),
    ("apps", "v1"),
    ("batch", "v1"),
    ("rbac.authorization.k8s.io", "v1"),
    ("coordination.k8s.io", "v1"),
    ("events.k8s.io", "v1"),
    ("apiextensions.k8s.io", "v1"),
    ("authentication.k8s.io", "v1"),
    ("authorization.k8s.io", "v1"),
    ("certificates.k8s.io", "v1"),
    ("discovery.k8s.io", "v1"),
    ("scheduling.k8s.io", "v1"),
    ("storage.k8s.io", "v1"),
    ("autoscaling", "v1"),
    ("autoscaling", "v2"),
    ("admissionregistration.k8s.io", "v1"),
    ("apiregistration.k8s.io", "v1"),
    ("flowcontrol.apiserver.k8s.io", "v1"),
    ("networking.k8s.io", "v1"),
    ("node.k8s.io", "v1"),
    ("policy", "v1"),
    ("resource.k8s.io", "v1"),
)
# Documents about the server itself, whose types (APIGroupList, version.Info, ...) it also serves.
GENERAL = ("api", "apis", "apis/apps", "version")

TARGET = Path(__file__).parents[1] / "atoll/apiserver/schemas/kubernetes.json"
JSON = "application/json"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
# The group of APIServices has none itself: it comes right after the core group, which is apart.
OWN_SERVICE = {
    ("apiregistration.k8s.io", "v1"): {"groupPriorityMinimum": 17900, "versionPriority": 15},
}
REF = "#/components/schemas/"
GVKS = "x-kubernetes-group-version-kind"


def collect(get: Get) -> str:
    """The content of the facts file, from a running kube-apiserver."""
    documents = {gv: get(f"/openapi/v3/{_prefix(*gv)}", JSON) for gv in SERVED}
    general = [get(f"/openapi/v3/{path}", JSON) for path in GENERAL]
    served = {gv: _schemas(document) for gv, document in documents.items()}
    definitions, per_version = _unite(
        [*served.items(), *((("", ""), _schemas(d)) for d in general)]
    )
    facts = {
        "provenance": {
            "source": "kube-apiserver: /openapi/v3, /api, /apis, apiservices; default flags",
            "messages": "struct tags in the Go modules of the same version",
            "kubernetes": get("/version", JSON)["gitVersion"],
            "regenerate": "make facts",
        },
        "groups": _groups(get, served),
        "kinds": _kinds(get, definitions),
        "per_version": per_version,
        "definitions": definitions,
        "messages": messages(definitions),
    }
    return _text(facts)


def _prefix(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _schemas(document: Json) -> dict[str, Json]:
    schemas: dict[str, Json] = document["components"].get("schemas", {})
    return {name: _without_descriptions(schema) for name, schema in schemas.items()}


def _without_descriptions(schema: Json) -> Json:
    """A JSON schema without prose; a property that happens to be called description stays."""
    kept = {key: value for key, value in schema.items() if key != "description"}
    if "properties" in kept:
        properties = kept["properties"].items()
        kept["properties"] = {name: _without_descriptions(value) for name, value in properties}
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = _without_descriptions(kept[key])
    return kept


def _unite(
    documents: Iterable[tuple[tuple[str, str], dict[str, Json]]],
) -> tuple[dict[str, Json], list[str]]:
    """All definitions, and the names of those that add the group and version of their document."""
    united: dict[str, Json] = {}
    per_version: set[str] = set()
    for (group, version), schemas in documents:
        for name, schema in schemas.items():
            known = united.setdefault(name, schema)
            if known == schema:
                continue
            own = {"group": group, "kind": name.rpartition(".")[2], "version": version}
            if known | {GVKS: [*known[GVKS], own]} != schema:
                sys.exit(f"{name} differs between documents in more than its own version")
            per_version.add(name)
    return united, sorted(per_version)


def _groups(get: Get, served: Mapping[tuple[str, str], dict[str, Json]]) -> list[Json]:
    """The groups in discovery order, each with its versions, preferred first."""
    services = get("/apis/apiregistration.k8s.io/v1/apiservices", JSON)["items"]
    specs = {(s["spec"].get("group", ""), s["spec"]["version"]): s["spec"] for s in services}
    specs |= OWN_SERVICE
    groups: dict[str, Json] = {}
    for group, version, _ in _discovered(get):
        spec = specs[group, version]
        priority = spec["groupPriorityMinimum"]
        entry = groups.setdefault(group, {"group": group, "priority": priority, "versions": []})
        schemas = served[group, version]
        entry["versions"].append(
            {
                "version": version,
                "priority": spec["versionPriority"],
                "roots": sorted(set(schemas) - {ref for s in schemas.values() for ref in _refs(s)}),
            }
        )
    return list(groups.values())


def _discovered(get: Get) -> Iterator[tuple[str, str, list[Json]]]:
    """Each served group and version with its discovery resources, in discovery order."""
    for path in ("/api", "/apis"):
        for item in get(path, AGGREGATED)["items"]:
            group = item["metadata"].get("name", "")
            for version in item["versions"]:
                if (group, version["version"]) in SERVED:
                    yield group, version["version"], version["resources"]


def _refs(node: Any) -> Iterator[str]:
    """The definitions a schema refers to (a property may itself be called $ref)."""
    if isinstance(node, list):
        for value in node:
            yield from _refs(value)
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix(REF)
            else:
                yield from _refs(value)


def _kinds(get: Get, definitions: Mapping[str, Json]) -> list[Json]:
    by_kind = {
        (tag["group"], tag["version"], tag["kind"]): name
        for name, schema in definitions.items()
        for tag in schema.get(GVKS, ())
    }
    kinds: list[Json] = []
    for group, version, resources in _discovered(get):
        listed = get("/" + _prefix(group, version), JSON)["resources"]
        hashes = {r["name"]: r.get("storageVersionHash", "") for r in listed}
        for resource in resources:
            kind = _kind(group, version, resource)
            kind["definition"] = by_kind[group, version, kind["kind"]]
            kind["storage_version_hash"] = hashes[resource["resource"]]
            kinds.append(kind)
    return kinds


def _kind(group: str, version: str, resource: Json) -> Json:
    return {
        "group": group,
        "version": version,
        "kind": resource["responseKind"]["kind"],
        "plural": resource["resource"],
        "singular": resource["singularResource"],
        "namespaced": resource["scope"] == "Namespaced",
        "short_names": resource.get("shortNames", []),
        "categories": resource.get("categories", []),
        "verbs": resource["verbs"],
        "subresources": {
            sub["subresource"]: _subresource(group, version, sub)
            for sub in resource.get("subresources", [])
        },
    }


def _subresource(group: str, version: str, sub: Json) -> Json:
    """Discovery leaves group and version empty where they are those of the resource."""
    response = sub["responseKind"]
    foreign = bool(response["version"])
    return {
        "group": response["group"] if foreign else group,
        "version": response["version"] if foreign else version,
        "kind": response["kind"],
        "verbs": sub["verbs"],
    }


def _text(facts: Mapping[str, Any]) -> str:
    """JSON with one line per entry of each section."""
    sections = []
    for name, section in facts.items():
        if isinstance(section, list):
            sections.append(f"{_dump(name)}:[\n" + ",\n".join(map(_dump, section)) + "\n]")
        else:
            lines = (f"{_dump(key)}:{_dump(section[key])}" for key in sorted(section))
            sections.append(f"{_dump(name)}:{{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(sections) + "\n}\n"


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def main() -> None:
    with kubernetes() as cluster:
        text = collect(cluster.get)
    TARGET.write_text(text, encoding="utf-8")
    print(f"wrote {TARGET.name}: {len(text) // 1024} KiB")


if __name__ == "__main__":
    main()
