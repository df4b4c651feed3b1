"""What clients learn first: which groups, versions and resources there are.

Two forms of the same: the plain lists, one document per group and version, and the aggregated one
that tells everything below /api or /apis at once. Pure functions of the catalog's index, and of
what is served behind this server; `Discovery` keeps what it has encoded until one of them changes.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256, sha512

import orjson

from atoll.apiserver.aggregation.merging import NOTHING_BEHIND, Behind, merged_groups
from atoll.apiserver.catalog import Catalog, Index, Subresource, subresources
from atoll.apiserver.resource import Resource
from atoll.wire import Wire

# The aggregated list of a custom resource's verbs has an order of its own.
_CUSTOM_ORDER = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_AGGREGATED = "apidiscovery.k8s.io"


@dataclass(frozen=True, slots=True)
class Document:
    """A document about the server, encoded. One with an etag may be kept and revalidated."""

    body: bytes
    content_type: str = "application/json"
    etag: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """All that is served at one moment: here, and behind this server."""

    index: Index
    behind: Behind
    groups: Mapping[str, tuple[str, ...]]  # each with its versions, in discovery order

    def has(self, group: str, version: str) -> bool:
        """Whether a version is served here."""
        known = (group, version)
        return known in self.index.versions and known not in self.behind.remotes


class Discovery:
    """The discovery documents of a catalog, and of what is behind the server."""

    def __init__(
        self,
        catalog: Catalog,
        address: str = "",
        behind: Callable[[], Behind] = lambda: NOTHING_BEHIND,
    ) -> None:
        self._catalog = catalog
        self._address = address  # host:port under which clients reach the server
        self.behind = behind
        self._served: Served | None = None
        self._documents: dict[tuple[tuple[str, ...], str], Document | None] = {}

    def document(self, parts: tuple[str, ...], aggregated: str | None = None) -> Document | None:
        """The document at a path, such as ("apis", "apps", "v1"); None if there is none.

        `aggregated` is the version of the aggregated form, where the client wants it.
        """
        served = self._now()
        key = (parts, aggregated or "")
        if key not in self._documents:
            self._documents[key] = self._build(served, parts, aggregated)
        return self._documents[key]

    def paths(self) -> list[str]:
        """Where the documents of groups and versions are."""
        found = []
        for group, versions in self._now().groups.items():
            root = f"/apis/{group}" if group else "/api"
            found += [*([root] if group else []), *(f"{root}/{version}" for version in versions)]
        return found

    def _now(self) -> Served:
        index, behind, known = self._catalog.index, self.behind(), self._served
        if known is None or index is not known.index or behind is not known.behind:
            known = Served(index, behind, merged_groups(self._catalog, behind))
            self._served, self._documents = known, {}
        return known

    def _build(
        self, served: Served, parts: tuple[str, ...], aggregated: str | None
    ) -> Document | None:
        if aggregated and parts in (("api",), ("apis",)):
            return _aggregated_document(served, aggregated, core=parts == ("api",))
        plain = legacy(served, parts, self._address)
        return None if plain is None else Document(orjson.dumps(plain))


def legacy(served: Served, parts: tuple[str, ...], address: str = "") -> Wire | None:
    """The plain form of the document at a path."""
    match parts:
        case ("api",):
            return _core_versions(served, address)
        case ("apis",):
            groups = [_group(served, group) for group in served.groups if group]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ("apis", group) if group in served.groups:
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(served, group)}
        case ("api", version) if served.has("", version):
            return _resource_list(served.index, "", version)
        case ("apis", group, version) if group and served.has(group, version):
            return _resource_list(served.index, group, version)
    return None


def _core_versions(served: Served, address: str) -> Wire:
    reached = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}] if address else []
    return {
        "kind": "APIVersions",
        "versions": list(served.groups.get("", ())),
        "serverAddressByClientCIDRs": reached,
    }


def _group(served: Served, group: str) -> Wire:
    versions = [
        {"groupVersion": f"{group}/{version}", "version": version}
        for version in served.groups[group]
    ]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _resource_list(index: Index, group: str, version: str) -> Wire:
    entries = [entry for resource in index.versions[group, version] for entry in _entries(resource)]
    # That of the core group has no apiVersion, for the sake of clients older than it.
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
    name = f"{group}/{version}" if group else version
    return {**head, "groupVersion": name, "resources": entries}


def _entries(resource: Resource) -> list[Wire]:
    """A resource and its subresources as the plain lists show them."""
    entry: Wire = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(resource),
        **_nicknames(resource),
    }
    if "watch" in resource.verbs:  # what cannot be watched is not stored, but made up when read
        entry["storageVersionHash"] = _storage_hash(resource)
    return [entry, *(_subresource_entry(resource, sub) for sub in subresources(resource))]


def _subresource_entry(resource: Resource, sub: Subresource) -> Wire:
    entry: Wire = {
        "name": f"{resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    if sub.group != resource.group:
        entry |= {"group": sub.group, "version": sub.version}
    return entry | {"kind": sub.kind, "verbs": list(sub.verbs)}


def _verbs(resource: Resource) -> list[str]:
    if not resource.custom:
        return list(resource.verbs)
    return [verb for verb in _CUSTOM_ORDER if verb in resource.verbs]


def _nicknames(resource: Resource) -> Wire:
    named = {"shortNames": resource.short_names, "categories": resource.categories}
    return {key: list(names) for key, names in named.items() if names}


def _storage_hash(resource: Resource) -> str:
    """A name for the form objects are stored in, computed as Kubernetes does."""
    group = "" if resource.stored_in else resource.group
    named = f"{group}/{resource.stored_version}/{resource.kind}"
    return b64encode(sha256(named.encode()).digest()[:8]).decode()


def _aggregated_document(served: Served, version: str, *, core: bool) -> Document:
    body = orjson.dumps(aggregated(served, version, core=core))
    kind = f"g={_AGGREGATED};v={version};as=APIGroupDiscoveryList"
    etag = f'"{sha512(body).hexdigest().upper()}"'
    return Document(body, f"application/json;{kind}", etag)


def aggregated(served: Served, version: str, *, core: bool) -> Wire:
    """Everything below /api (`core`) or /apis in one document."""
    groups = [group for group in served.groups if (group == "") is core]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"{_AGGREGATED}/{version}",
        "metadata": {},
        "items": [_group_item(served, group) for group in groups],
    }


def _group_item(served: Served, group: str) -> Wire:
    versions = [
        served.behind.version(group, version)
        or {
            "version": version,
            "resources": [_resource_item(r) for r in served.index.versions[group, version]],
            "freshness": "Current",
        }
        for version in served.groups[group]
    ]
    return {"metadata": {"name": group} if group else {}, "versions": versions}


def _resource_item(resource: Resource) -> Wire:
    item: Wire = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, resource.group, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _verbs(resource),
        **_nicknames(resource),
    }
    if subs := subresources(resource):
        item["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(resource, sub.group, sub.kind, sub.version),
                "verbs": list(sub.verbs),
            }
            for sub in subs
        ]
    return item


def _response_kind(resource: Resource, group: str, kind: str, version: str = "") -> Wire:
    """Built-in kinds of their own group are told by name alone, as Kubernetes does."""
    if not resource.custom and group == resource.group:
        return {"group": "", "version": "", "kind": kind}
    return {"group": group, "version": version or resource.version, "kind": kind}
