"""What a host asks its webhooks, and what it is told: reviews of admission and conversion. Pure.

In: the body of a review. Out: the write as the rules see it (`apiserver.admission`), and the
answer: a refusal in their words, or what is to be changed, as a JSON patch. Which rules there are
is known elsewhere.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson

from atoll.apiserver.admission import Admission, Operation
from atoll.apiserver.authentication import Identity
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import ApiError, bad_request
from atoll.dialects.karmada import older
from atoll.hosting.translating import KEPT, SHOWN, shown_object
from atoll.wire import Wire

_ADMISSION, _CONVERSION = "AdmissionReview", "ConversionReview"
_NEWER = "work.karmada.io/v1alpha2"
_READ_ONLY = (
    f"{older.VERSION} can only be read: written that way, a binding would lose what only {_NEWER}"
    " has"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A write that a host asks about, and the number of its question."""

    uid: str
    request: Wire

    @property
    def place(self) -> tuple[str, str]:
        """The group and the plural of what is written."""
        named = self.request.get("resource") or {}
        return str(named.get("group", "")), str(named.get("resource", ""))

    @property
    def name(self) -> str:
        """What the object is called; nothing if the host is yet to make a name up."""
        own = (self.request.get("object") or {}).get("metadata") or {}
        return str(self.request.get("name") or own.get("name") or "")

    @property
    def old(self) -> Wire | None:
        return self.request.get("oldObject")

    def seen(self, resource: Resource, others: Sequence[Wire]) -> Admission:
        """The write as the rules see it; what is kept of a Cluster, as the Cluster."""
        request = self.request
        info = request.get("userInfo") or {}
        extra = tuple((key, tuple(values)) for key, values in (info.get("extra") or {}).items())
        who = Identity(
            info.get("username", ""), tuple(info.get("groups") or ()), info.get("uid", ""), extra
        )
        found, old = (shown_object(request.get(key)) for key in ("object", "oldObject"))
        return Admission(
            cast(Operation, request.get("operation")),
            resource,
            request.get("namespace", ""),
            self.name,
            who,
            object=found,
            old=old,
            subresource=request.get("subResource", ""),
            dry_run=bool(request.get("dryRun")),
            others=lambda: others,
        )


def asked_in(body: bytes) -> Asked:
    """What a review asks; ApiError 400 if it is none."""
    request = _request_in(body, _ADMISSION)
    return Asked(str(request["uid"]), request)


def shown_place(place: tuple[str, str]) -> tuple[str, str]:
    """What is kept of Clusters is judged as Clusters are."""
    return (SHOWN.group, SHOWN.plural) if place == (KEPT.group, KEPT.plural) else place


def allowed(asked: Asked, changed: Wire | None = None) -> Wire:
    """The answer to a write that may be made, after these changes."""
    response: Wire = {"uid": asked.uid, "allowed": True}
    before = shown_object(asked.request.get("object"))
    changes = steps(before, changed) if changed is not None else []
    if changes:
        patch = base64.b64encode(orjson.dumps(changes)).decode()
        response |= {"patchType": "JSONPatch", "patch": patch}
    return _review("admission.k8s.io/v1", _ADMISSION, response)


def refused(asked: Asked, refusal: ApiError) -> Wire:
    """The answer to a write that may not be made."""
    response = {"uid": asked.uid, "allowed": False, "status": refusal.status()}
    return _review("admission.k8s.io/v1", _ADMISSION, response)


def steps(before: Any, after: Any, path: str = "") -> list[Wire]:
    """A JSON patch that makes the one of the other; what is no object is replaced whole."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return [] if before == after else [{"op": "replace", "path": path, "value": after}]
    gone = sorted(before.keys() - after.keys())
    found: list[Wire] = [{"op": "remove", "path": f"{path}/{_escaped(key)}"} for key in gone]
    for key, value in after.items():
        below = f"{path}/{_escaped(key)}"
        if key in before:
            found += steps(before[key], value, below)
        else:
            found.append({"op": "add", "path": below, "value": value})
    return found


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def converted(body: bytes) -> Wire:
    """The answer to a question for bindings in another version; ApiError 400 if it is none."""
    request = _request_in(body, _CONVERSION)
    wanted, objects = request.get("desiredAPIVersion"), request.get("objects") or []
    response: Wire = {"uid": request["uid"]}
    try:
        found = [_in_version(each, wanted) for each in objects]
        response |= {"convertedObjects": found, "result": {"status": "Success"}}
    except ValueError as error:
        response |= {"result": {"status": "Failure", "message": str(error)}}
    return _review("apiextensions.k8s.io/v1", _CONVERSION, response)


def _in_version(obj: Wire, wanted: Any) -> Wire:
    version = obj.get("apiVersion")
    if version == wanted:
        return obj
    if (version, wanted) == (_NEWER, older.VERSION):
        return older.binding(obj)
    if (version, wanted) == (older.VERSION, _NEWER):
        raise ValueError(_READ_ONLY)
    raise ValueError(f"there is no way from {version} to {wanted}")


def _request_in(body: bytes, kind: str) -> Wire:
    try:
        review = orjson.loads(body)
        request = review["request"]
        if review["kind"] == kind and isinstance(request, dict) and isinstance(request["uid"], str):
            return request
    except (ValueError, TypeError, KeyError):
        pass
    raise bad_request(f"this is no {kind}")


def _review(version: str, kind: str, response: Mapping[str, Any]) -> Wire:
    return {"apiVersion": version, "kind": kind, "response": dict(response)}
