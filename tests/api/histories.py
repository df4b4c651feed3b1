"""Random histories of one object: who writes what in which way, drawn by Hypothesis.

A history names a kind and the steps of its one object's life: several managers apply, update and
patch it, its status and its scale, some with odd values, some with stale versions, some for show
only. What a step sends may depend on the object as it is then; `asked` makes the request of it.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from backends import PATCHES
from history_kinds import KINDS, Kind
from hypothesis import strategies as st

from atoll.wire import Wire

MANAGERS = ("one", "two", "kubectl")
# Most rules are about applies.
MOVES = ("apply", "apply", "apply", "apply", "force", "force", "put", "put", "merge", "strategic")
MOVES += ("json", "create", "owners", "delete")
ODD_VALUES: tuple[Any, ...] = (None, {}, [], "", 0, "x", 7, True, [None], [{}], {"odd": 1}, 1.5)
# Never spoiled: what the real server gives out by them where they are missing, ours does not.
GIVEN_OUT = ("clusterIP", "selector")
OWNERS: tuple[Any, ...] = (
    [],
    [{}],
    None,
    [{"manager": "m", "operation": "Update", "fieldsType": "FieldsV1", "apiVersion": "v1"}],
    [{"manager": "m", "operation": "Other"}],
    "keep",
    "drop first",
    "rename first",
    "empty first",
)
CLAIMS = ("", "", "", "", "", "", "current", "stale", "uid")
QUERIES = ("", "", "", "&dryRun=All", "&fieldValidation=Strict", "&fieldValidation=Ignore")


@dataclass(frozen=True)
class Move:
    """One step of a history. The body is what the writer says of the object."""

    how: str
    manager: str = "one"
    body: Any = None
    query: str = ""
    subresource: str = ""
    version: str = ""  # of the API, where a kind has several
    claim: str = ""  # what the body says of the object's resourceVersion or uid
    patch: list[Any] = field(default_factory=list)
    owners: Any = None


@dataclass(frozen=True)
class Asked:
    """A request; the path lacks the namespace."""

    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, list[Move]]:
    name = draw(st.sampled_from(sorted(KINDS)))
    return name, draw(st.lists(moves(KINDS[name]), min_size=2, max_size=10))


@st.composite
def moves(draw: st.DrawFn, kind: Kind) -> Move:
    how = draw(st.sampled_from(MOVES))
    subresource = draw(st.sampled_from(("", "", "", "", *kind.subresources)))
    if how in ("create", "delete", "owners"):
        subresource = ""
    # The real server cannot apply the scale of a custom kind, for want of a version to convert to.
    if subresource == "scale" and len(kind.versions) > 1 and how in ("apply", "force"):
        subresource = "status"
    claims = CLAIMS if subresource != "scale" else ("",)
    return Move(
        how=how,
        manager=draw(st.sampled_from(MANAGERS)),
        body=draw(_bodies(kind, subresource)),
        query=draw(st.sampled_from(QUERIES)),
        subresource=subresource,
        version=draw(st.sampled_from(kind.versions)),
        claim=draw(st.sampled_from(claims)),
        patch=draw(_json_patches(kind)) if how == "json" else [],
        owners=draw(st.sampled_from(OWNERS)) if how == "owners" else None,
    )


@st.composite
def _bodies(draw: st.DrawFn, kind: Kind, subresource: str) -> Wire:
    if subresource == "scale":
        body: Wire = {"spec": draw(st.sampled_from(({"replicas": 1}, {"replicas": 2}, {})))}
    else:
        body = draw(kind.bodies)
        body["metadata"] = draw(_metadata)
        if (status := draw(kind.statuses)) is not None:
            body["status"] = status
    if subresource != "scale" and draw(st.integers(0, 5)) == 0:
        places = list(_places(body))
        holder, key = draw(st.sampled_from(places))
        _spoil(draw, holder, key)
    return body


_metadata = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12"), max_size=2),
        "annotations": st.dictionaries(st.sampled_from("ab"), st.sampled_from("12"), max_size=2),
        "finalizers": st.lists(
            st.sampled_from(("ex.io/a", "ex.io/b", "ex.io/c")), unique=True, max_size=2
        ),
    },
)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a value: what holds it, and by which key."""
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        if key in GIVEN_OUT:
            continue
        yield value, key
        if isinstance(child, dict | list):
            yield from _places(child)


def _spoil(draw: st.DrawFn, holder: Any, key: Any) -> None:
    """Put something odd into the place, or beside it."""
    how = draw(st.sampled_from(("replace", "null", "add", "double")))
    if how == "replace":
        holder[key] = copy.deepcopy(draw(st.sampled_from(ODD_VALUES)))
    elif how == "null":
        holder[key] = None
    elif how == "double" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif isinstance(holder, dict):
        holder["unknown"] = copy.deepcopy(draw(st.sampled_from(ODD_VALUES)))


@st.composite
def _json_patches(draw: st.DrawFn, kind: Kind) -> list[Any]:
    operations = []
    for _ in range(draw(st.integers(1, 2))):
        body = draw(kind.bodies)
        pointers = [*_pointers(body, ""), "/metadata/labels", "/metadata/labels/x"]
        pointer, value = draw(st.sampled_from(list(_pointed(body, pointers))))
        op = draw(st.sampled_from(("add", "replace", "remove", "test", "copy", "move")))
        operation: Wire = {"op": op, "path": pointer}
        if op in ("add", "replace", "test"):
            operation["value"] = value
        if op in ("copy", "move"):
            operation["from"] = draw(st.sampled_from(pointers))
        operations.append(operation)
    return operations


def _pointers(value: Any, at: str) -> Iterator[str]:
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        if key in GIVEN_OUT:
            continue
        pointer = f"{at}/{key}"
        yield pointer
        if isinstance(child, dict | list):
            yield from _pointers(child, pointer)


def _pointed(body: Any, pointers: list[str]) -> Iterator[tuple[str, Any]]:
    for pointer in pointers:
        value = body
        for part in pointer.split("/")[1:]:
            if isinstance(value, list):
                value = value[int(part)]
            else:
                value = value.get(part, "1") if isinstance(value, dict) else "1"
        yield pointer, value
        if pointer.endswith("/0"):
            yield pointer[:-1] + "-", value


def needs_live(move: Move) -> bool:
    """Whether what a move sends depends on the object as it is."""
    return bool(move.claim) or move.how in ("put", "owners")


def asked(name: str, object_name: str, move: Move, live: Wire | None) -> Asked:
    """The request that a move comes to, the object being as it is."""
    kind = KINDS[name]
    root = kind.root.replace("VERSION", move.version)
    path = f"{root}/{object_name}" + (f"/{move.subresource}" if move.subresource else "")
    query = f"?fieldManager={move.manager}{move.query}"
    match move.how:
        case "create":
            return Asked("POST", root + query, _whole(kind, move, object_name, live))
        case "delete":
            return Asked("DELETE", path)
        case "apply" | "force":
            force = "&force=true" if move.how == "force" else ""
            body = _whole(kind, move, object_name, live)
            return Asked("PATCH", path + query + force, body, PATCHES["apply"])
        case "put":
            body = _whole(kind, move, object_name, live)
            if live is not None and move.claim != "stale":
                body = _onto(live, body)
            return Asked("PUT", path + query, body)
        case "merge" | "strategic":
            return Asked("PATCH", path + query, _claimed(move, live), PATCHES[move.how])
        case "json":
            return Asked("PATCH", path + query, move.patch, PATCHES["json"])
    return _owners(path + query, move, live)


def _whole(kind: Kind, move: Move, name: str, live: Wire | None) -> Wire:
    """The body as an object of its kind, under its name."""
    body = _claimed(move, live)
    version = kind.api_version.replace("VERSION", move.version)
    head = {"apiVersion": version, "kind": kind.kind}
    if move.subresource == "scale":
        head = {"apiVersion": "autoscaling/v1", "kind": "Scale"}
    metadata = body.get("metadata")
    if metadata is None or isinstance(metadata, dict):
        body["metadata"] = {"name": name, **(metadata or {})}
    return {**head, **body}


def _claimed(move: Move, live: Wire | None) -> Wire:
    body: Wire = copy.deepcopy(move.body)
    metadata = body.setdefault("metadata", {})
    if not isinstance(metadata, dict) or live is None:
        return body
    if move.claim == "current":
        metadata["resourceVersion"] = live["metadata"]["resourceVersion"]
        metadata["uid"] = live["metadata"]["uid"]
    elif move.claim == "stale":
        metadata["resourceVersion"] = "1"
    elif move.claim == "uid":
        metadata["uid"] = "00000000-0000-4000-8000-000000000000"
    return body


def _onto(live: Wire, body: Wire) -> Wire:
    """What a client sends that read the object and changed parts of it."""
    metadata = {**live["metadata"], **body["metadata"]} if body["metadata"] else live["metadata"]
    return {**live, **body, "metadata": metadata}


def _owners(path: str, move: Move, live: Wire | None) -> Asked:
    """The object as it is, but with other owners of its fields."""
    if live is None or not isinstance(move.owners, str):
        patch = {"metadata": {"managedFields": move.owners}}
        return Asked("PATCH", path, patch, PATCHES["merge"])
    entries = copy.deepcopy(live["metadata"].get("managedFields", []))
    if entries and move.owners == "drop first":
        entries = entries[1:]
    elif entries and move.owners == "rename first":
        entries[0]["manager"] = "renamed"
    elif entries and move.owners == "empty first":
        entries[0]["fieldsV1"] = {}
    metadata = {**live["metadata"], "managedFields": entries}
    return Asked("PUT", path, {**live, "metadata": metadata})
