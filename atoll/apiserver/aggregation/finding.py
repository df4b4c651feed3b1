"""What a server behind this one says that it serves, in the form that discovery here is made of.

Its answers come in as bytes and are not trusted: whatever is no discovery document, or is about
other versions than the one it answers for, counts for nothing. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from atoll.apiserver.aggregation.remote import Remote
from atoll.apiserver.kinds.reading import part, parts, text
from atoll.wire import Wire

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@dataclass(frozen=True, slots=True)
class Findings:
    """The resources of a version, as the aggregated document lists them, and its OpenAPI's place.

    Stale ones are what was known before the server could not be asked any more.
    """

    resources: tuple[Wire, ...] = ()
    openapi: str = ""
    stale: bool = False


def listed(body: bytes) -> tuple[Wire, ...]:
    """The resources in a plain list of one version."""
    return tuple(_nested(parts(_read(body), "resources")))


def discovered(body: bytes, remote: Remote) -> tuple[Wire, ...] | None:
    """The resources of a version in an aggregated document; None if it is not such a document."""
    document = _read(body)
    if document.get("kind") != "APIGroupDiscoveryList":
        return None
    for item in parts(document, "items"):
        if text(item, "metadata", "name") != remote.group:
            continue
        for version in parts(item, "versions"):
            if version.get("version") == remote.version:
                return tuple(parts(version, "resources"))
    return None


def openapi_place(body: bytes, remote: Remote) -> str:
    """Where a server keeps the OpenAPI document of its version; empty if it has none."""
    place = text(_read(body), "paths", remote.root.lstrip("/"), "serverRelativeURL")
    return place if place.startswith("/openapi/v3/") else ""


def _read(body: bytes) -> Wire:
    try:
        return part(orjson.loads(body))
    except ValueError:
        return {}


def _nested(entries: Iterable[Wire]) -> list[Wire]:
    """Entries of a plain list, with subresources inside what they belong to."""
    found: dict[str, Wire] = {}
    for entry in entries:
        name, _, sub = str(entry.get("name", "")).partition("/")
        if not sub:
            found[name] = {**found.get(name, {}), **_item(entry, name)}
            continue
        below = {
            "subresource": sub,
            "responseKind": _kind(entry),
            "verbs": list(entry.get("verbs") or ()),
        }
        owner = found.setdefault(name, _item({}, name))
        owner["subresources"] = [*owner.get("subresources", ()), below]
    return list(found.values())


def _item(entry: Mapping[str, Any], name: str) -> Wire:
    item: Wire = {
        "resource": name,
        "responseKind": _kind(entry),
        "scope": "Namespaced" if entry.get("namespaced") is True else "Cluster",
        "singularResource": entry.get("singularName") or "",
        "verbs": list(entry.get("verbs") or ()),
    }
    return item | {key: entry[key] for key in ("shortNames", "categories") if entry.get(key)}


def _kind(entry: Mapping[str, Any]) -> Wire:
    return {key: entry.get(key) or "" for key in ("group", "version", "kind")}
