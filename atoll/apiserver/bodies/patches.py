"""A PATCH request's body to the value it says, and what follows when the result does not fit.

In: bytes and the kind of patch. Out: the value (a dict, or a list of operations for a JSON patch)
and the duplicate fields strict reading complains of. What a patch does is not known here.
"""

from dataclasses import dataclass
from typing import Any

from atoll.apiserver.bodies.decoding import Validation, conform, kind_fault, read_yaml_or_json
from atoll.apiserver.bodies.encoding import encode_json
from atoll.apiserver.bodies.json_text import (
    may_have_floats,
    may_repeat,
    read_json,
    read_repeating,
    repeated_paths,
)
from atoll.apiserver.fields import error as fields
from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.json_values import settle_numbers
from atoll.apiserver.schemas.mismatch import Mismatch, WrongType
from atoll.apiserver.status import ApiError, bad_request, unsupported_media_type
from atoll.errors import Malformed
from atoll.wire import Wire

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
# What they must be, in Go's words.
_OBJECT, _OPERATIONS = "map[string]interface {}", "[]handlers.jsonPatchOp"


@dataclass(frozen=True, slots=True)
class Patch:
    """What the client wants changed, and what strict reading complains of."""

    value: Any
    complaints: list[str]
    strategic: bool = False
    applied: bool = False


def decode_patch(body: bytes, patch_type: str, *, validation: Validation = "Warn") -> Patch:
    """The value of a patch; refuses what is no JSON or YAML, or not of the right form."""
    if patch_type == APPLY_PATCH:
        return _decode_apply(body, validation)
    if patch_type not in (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH):
        raise unsupported_media_type([JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH])
    prefix = "" if patch_type == STRATEGIC_MERGE_PATCH else "error decoding patch: "
    wanted = list if patch_type == JSON_PATCH else dict
    try:
        value = read_json(body)
    except Malformed as reason:
        raise bad_request(f"{prefix}{reason}") from None
    if value is None and patch_type == MERGE_PATCH:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(value, wanted):
        name = _OPERATIONS if patch_type == JSON_PATCH else _OBJECT
        raise bad_request(prefix + WrongType(value, name).message())
    complaints = []
    if validation != "Ignore" and may_repeat(body, value):
        words = "json patch duplicate field" if patch_type == JSON_PATCH else "duplicate field"
        complaints = [f'{words} "{path}"' for path in repeated_paths(read_repeating(body))]
    settled = settle_numbers(value) if may_have_floats(body) else value
    return Patch(settled, complaints, strategic=patch_type == STRATEGIC_MERGE_PATCH)


def _decode_apply(body: bytes, validation: Validation) -> Patch:
    try:
        found = read_yaml_or_json(body)
    except Malformed as reason:
        text = f"error decoding YAML: error converting YAML to JSON: {reason}"
        raise bad_request(text) from None
    value = {} if found.value is None else found.value
    if not isinstance(value, dict):
        text = WrongType(value, _OBJECT).message()
        prefix = "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
        raise bad_request(prefix + text)
    if not found.repeated or validation == "Ignore":
        return Patch(value, [], applied=True)
    lines = "\n  ".join(found.repeated)
    text = f"error converting YAML to JSON: yaml: unmarshal errors:\n  {lines}"
    if validation == "Strict":
        raise bad_request(f"error strict decoding YAML: {text}")
    return Patch(value, [text], applied=True)


def conform_patched(
    resource: Resource, obj: Wire, patch: Patch, *, validation: Validation = "Warn"
) -> tuple[Wire, list[str]]:
    """The patched object made to fit its resource, and warnings; refuses as patches are refused."""
    if patch.strategic:
        # Such a patch is put into an object of the kind, which it cannot turn into another.
        obj = {**obj, "kind": resource.kind, "apiVersion": resource.api_version}
    try:
        if not resource.custom:
            _check_kind(resource, obj)
        # What is applied is merged as it is, nulls included.
        fitting = conform(resource, obj, patched=True, may_have_nulls=not patch.applied)
    except Mismatch as mismatch:
        reason = mismatch.converting() if patch.strategic else mismatch.message()
        raise patch_refused(obj, patch, reason) from None
    complaints = [] if validation == "Ignore" else patch.complaints + fitting.complaints
    if validation == "Strict" and complaints:
        raise patch_refused(obj, patch, f"strict decoding error: {', '.join(complaints)}")
    return fitting.object, complaints


def _check_kind(resource: Resource, obj: Wire) -> None:
    for key in ("apiVersion", "kind"):
        if obj.get(key) is not None and not isinstance(obj[key], str):
            wrong = WrongType(obj[key], "string")
            wrong.inside("", key)
            prefix = "couldn't get version/kind; json parse error: "
            raise Mismatch(prefix + wrong.message())
    fault = kind_fault(obj, resource)
    if fault is not None:
        raise Mismatch(fault)


def patch_refused(obj: Wire, patch: Patch, reason: str) -> ApiError:
    """422 for a patch whose result is not an object of its kind; shows what Kubernetes shows."""
    shown = fields.go_text(patch.value) if patch.strategic else encode_json(obj).decode()
    error = fields.invalid("patch", shown, reason)
    details = {"causes": [error.cause()]}
    return ApiError(422, "Invalid", f' "" is invalid: {error}', details=details)
