"""What a server behind this one says that it serves, in the form that discovery here is made of.

Its answers come in as bytes and are not trusted: whatever is no discovery document, or is about
other versions than the one it answers for, counts for nothing. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from atoll.apiserver.aggregation.remote import Remote
from atoll.wire import Object

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@dataclass(frozen=True, slots=True)
class Findings:
    """The resources of a version, as the aggregated document lists them, and its OpenAPI's place.

    Stale ones are what was known before the server could not be asked any more.
    """

    resources: tuple[Object, ...] = ()
    openapi: str = ""
    stale: bool = False


def listed(body: bytes) -> tuple[Object, ...]:
    """The resources in a plain list of one version."""
    return tuple(_nested(_objects(_read(body).get("resources"))))


def discovered(body: bytes, remote: Remote) -> tuple[Object, ...] | None:
    """The resources of a version in an aggregated document; None if it is not such a document."""
    document = _read(body)
    if document.get("kind") != "APIGroupDiscoveryList":
        return None
    for item in _objects(document.get("items")):
        if (_object(item.get("metadata")).get("name") or "") != remote.group:
            continue
        for version in _objects(item.get("versions")):
            if version.get("version") == remote.version:
                return tuple(_objects(version.get("resources")))
    return None


def openapi_place(body: bytes, remote: Remote) -> str:
    """Where a server keeps the OpenAPI document of its version; empty if it has none."""
    paths = _object(_read(body).get("paths"))
    place = _object(paths.get(remote.root.lstrip("/"))).get("serverRelativeURL")
    return place if isinstance(place, str) and place.startswith("/openapi/v3/") else ""


def _read(body: bytes) -> Object:
    try:
        return _object(orjson.loads(body))
    except ValueError:
        return {}


def _object(value: object) -> Object:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Object]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _nested(entries: Iterable[Object]) -> list[Object]:
    """Entries of a plain list, with subresources inside what they belong to."""
    found: dict[str, Object] = {}
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


def _item(entry: Mapping[str, Any], name: str) -> Object:
    item: Object = {
        "resource": name,
        "responseKind": _kind(entry),
        "scope": "Namespaced" if entry.get("namespaced") is True else "Cluster",
        "singularResource": entry.get("singularName") or "",
        "verbs": list(entry.get("verbs") or ()),
    }
    return item | {key: entry[key] for key in ("shortNames", "categories") if entry.get(key)}


def _kind(entry: Mapping[str, Any]) -> Object:
    return {key: entry.get(key) or "" for key in ("group", "version", "kind")}
