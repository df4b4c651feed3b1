"""Clusters as they are shown, and as a host keeps them: the same objects under two names.

In: a request for `clusters.cluster.karmada.io`, and what the host answered. Out: the request for
`clusterrecords.placement.atoll.io` that it means, and the answer as it is told, line by line where
it is a watch. Bytes in, bytes out; nobody is asked, and nothing is kept here. What cannot be read
goes on as it is: the host says what is wrong with it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from atoll.apiserver.bodies.decoding import JSON, YAML, media_type, read_yaml_or_json
from atoll.apiserver.bodies.encoding import encode_yaml
from atoll.apiserver.bodies.patches import APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from atoll.apiserver.negotiation import Representation, negotiate
from atoll.apiserver.status import bad_request
from atoll.errors import Malformed
from atoll.exchange import Request, Response
from atoll.wire import Wire


@dataclass(frozen=True, slots=True)
class Naming:
    """What a kind is called."""

    group: str
    version: str
    kind: str
    plural: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def collection(self) -> str:
        return f"{self.plural}.{self.group}"

    @property
    def root(self) -> str:
        """Where its version is served."""
        return f"/apis/{self.api_version}"


SHOWN = Naming("cluster.karmada.io", "v1alpha1", "Cluster", "clusters")
KEPT = Naming("placement.atoll.io", "v1alpha1", "ClusterRecord", "clusterrecords")

# What a host is to know of who asks: a write without a manager is managed by the user agent.
_SENT = ("user-agent", "traceparent")
_TOLD = ("cache-control", "content-type", "retry-after", "warning")
_BODIES = {JSON, YAML, APPLY_PATCH, MERGE_PATCH}
_DENIED = re.compile(r'^admission webhook "[^"]*\.atoll\.io" denied the request: ')
# The longer ones first: each may be a part of those before it.
_WORDS = (
    (KEPT.collection, SHOWN.collection),
    (f"{KEPT.kind}.{KEPT.group}", f"{SHOWN.kind}.{SHOWN.group}"),
    (KEPT.api_version, SHOWN.api_version),
    (KEPT.kind, SHOWN.kind),
    (KEPT.plural, SHOWN.plural),
    (KEPT.group, SHOWN.group),
)


def is_for_objects(path: str) -> bool:
    """Whether a path is that of Clusters, one of them, or its status."""
    _, _, below = path.partition(f"{SHOWN.root}/{SHOWN.plural}")
    return path.startswith(f"{SHOWN.root}/{SHOWN.plural}") and below[:1] in ("", "/", "?")


def inward(request: Request) -> Request:
    """The request for what is kept that a request for what is shown means; ApiError if none."""
    form = negotiate(request.headers.get("accept", ""))
    below = request.path.removeprefix(f"{SHOWN.root}/{SHOWN.plural}")
    headers = {name: request.headers[name] for name in _SENT if name in request.headers}
    headers["accept"] = _accepted(form)
    body = request.body
    if body:
        kind = request.headers.get("content-type", "")
        headers["content-type"], body = _body_inward(media_type(kind), kind, body)
    path = f"{KEPT.root}/{KEPT.plural}{below}"
    return Request(request.method, path, request.query, headers, body)


def _accepted(form: Representation) -> str:
    shape = f";as={form.shape};v={form.version};g=meta.k8s.io" if form.shape else ""
    return f"application/json{shape}"


def _body_inward(form: str, kind: str, body: bytes) -> tuple[str, bytes]:
    """A body as it is sent to the host, and its type."""
    if form == JSON_PATCH:
        return kind, _patch_inward(body)
    if form not in _BODIES:
        return kind, body
    try:
        said = read_yaml_or_json(body).value if form in (YAML, APPLY_PATCH) else orjson.loads(body)
    except (ValueError, Malformed):
        return kind, body
    if not isinstance(said, dict):
        return kind, body
    return JSON if form == YAML else kind, orjson.dumps(_kept(said))


def _kept(said: Wire) -> Wire:
    version = said.get("apiVersion")
    if version == KEPT.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match"
            f" the expected API version ({SHOWN.api_version})"
        )
    return _renamed(said, SHOWN, KEPT)


def _patch_inward(body: bytes) -> bytes:
    try:
        steps = orjson.loads(body)
    except ValueError:
        return body
    if not isinstance(steps, list):
        return body
    return orjson.dumps([_step_inward(step) for step in steps])


def _step_inward(step: Any) -> Any:
    if not isinstance(step, dict) or "value" not in step or not isinstance(step.get("path"), str):
        return step
    return {**step, "value": _at(step["path"].split("/")[1:], step["value"])}


def _at(path: Sequence[str], value: Any) -> Any:
    """A value that a patch puts at a path, in the names of what is kept."""
    match path:
        case []:
            return _renamed(value, SHOWN, KEPT) if isinstance(value, dict) else value
        case ["apiVersion"] | ["metadata", "managedFields", _, "apiVersion"]:
            return KEPT.api_version if value == SHOWN.api_version else value
        case ["kind"]:
            return KEPT.kind if value == SHOWN.kind else value
        case ["metadata"]:
            return _managed(value, SHOWN, KEPT)
        case ["metadata", "managedFields"]:
            return _entries(value, SHOWN, KEPT)
        case ["metadata", "managedFields", _]:
            return _entries([value], SHOWN, KEPT)[0]
    return value


def outward(request: Request, response: Response) -> Response:
    """The host's whole answer as it is told to who sent the request."""
    headers = told_headers(response.headers)
    try:
        document = orjson.loads(response.body)
    except ValueError:
        return Response(response.status, headers, response.body)
    shown = shown_object(document)
    if negotiate(request.headers.get("accept", "")).media_type == YAML:
        return Response(response.status, {**headers, "content-type": YAML}, encode_yaml(shown))
    is_pretty = response.body[:2] == b"{\n"
    option = orjson.OPT_INDENT_2 if is_pretty else 0
    return Response(response.status, headers, orjson.dumps(shown, option=option))


def told_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """What the host says about its answer that is said on."""
    told = {name: headers[name] for name in _TOLD if name in headers}
    if "warning" in told:
        told["warning"] = in_shown_words(told["warning"])
    return told


def line_outward(line: bytes) -> bytes:
    """One event of a watch, as it is told; one that makes no sense as it came."""
    try:
        event = orjson.loads(line)
    except ValueError:
        return line
    if not isinstance(event, dict) or not isinstance(event.get("object"), dict):
        return line
    return orjson.dumps({**event, "object": shown_object(event["object"])})


def shown_object(kept: Any) -> Any:
    """An object, a list, a table or a Status of the host in the names that are shown."""
    if not isinstance(kept, dict):
        return kept
    if kept.get("kind") == "Status":
        return _shown_status(kept)
    found = _renamed(kept, KEPT, SHOWN)
    if isinstance(found.get("items"), list):
        found["items"] = [shown_object(each) for each in found["items"]]
    if found.get("kind") == "Table" and isinstance(found.get("rows"), list):
        found["rows"] = [_shown_row(row) for row in found["rows"]]
    return found


def _shown_row(row: Any) -> Any:
    if not isinstance(row, dict) or "object" not in row:
        return row
    return {**row, "object": shown_object(row["object"])}


def _shown_status(status: Wire) -> Wire:
    found = dict(status)
    if isinstance(found.get("message"), str):
        found["message"] = in_shown_words(found["message"])
    details = found.get("details")
    if not isinstance(details, dict):
        return found
    found["details"] = details = dict(details)
    if details.get("group") == KEPT.group:
        details["group"] = SHOWN.group
    if isinstance(details.get("kind"), str):
        details["kind"] = in_shown_words(details["kind"])
    if isinstance(details.get("causes"), list):
        details["causes"] = [_shown_cause(each) for each in details["causes"]]
    return found


def _shown_cause(cause: Any) -> Any:
    if not isinstance(cause, dict) or not isinstance(cause.get("message"), str):
        return cause
    return {**cause, "message": in_shown_words(cause["message"])}


def in_shown_words(text: str) -> str:
    """A sentence of the host about what is kept, as one about what is shown."""
    text = _DENIED.sub("", text)
    for kept, shown in _WORDS:
        text = text.replace(kept, shown)
    return text


def _renamed(obj: Wire, old: Naming, new: Naming) -> Wire:
    """The same object, or list of them, under other names; what is of another kind stays."""
    found = dict(obj)
    if found.get("apiVersion") == old.api_version:
        found["apiVersion"] = new.api_version
    for suffix in ("", "List"):
        if found.get("kind") == f"{old.kind}{suffix}":
            found["kind"] = f"{new.kind}{suffix}"
    if "metadata" in found:
        found["metadata"] = _managed(found["metadata"], old, new)
    return found


def _managed(metadata: Any, old: Naming, new: Naming) -> Any:
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return metadata
    return {**metadata, "managedFields": _entries(metadata["managedFields"], old, new)}


def _entries(entries: Any, old: Naming, new: Naming) -> Any:
    if not isinstance(entries, list):
        return entries
    return [
        {**each, "apiVersion": new.api_version}
        if isinstance(each, dict) and each.get("apiVersion") == old.api_version
        else each
        for each in entries
    ]
