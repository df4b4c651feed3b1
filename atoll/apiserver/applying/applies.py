"""Server-side apply: a configuration merged into the live object, and who owns what then.

In: the live object, the configuration exactly as the client sent it, and who applies. Out: the
merged object with its managedFields; the caller defaults and validates it. Refused with 409 if the
configuration changes what others own, unless forced.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from atoll.apiserver.applying.comparing import compare, same
from atoll.apiserver.applying.elements import shown, written
from atoll.apiserver.applying.elements import written as go_json
from atoll.apiserver.applying.fieldset import (
    FieldSet,
    difference,
    intersection,
    paths,
    union,
    without,
)
from atoll.apiserver.applying.merging import merge, prune
from atoll.apiserver.applying.ownership import Managers, Owner, stored, with_entries
from atoll.apiserver.applying.shape import joined, misfits
from atoll.apiserver.applying.typed import Untypable, mentioned
from atoll.apiserver.applying.updates import (
    Path,
    Write,
    Writer,
    compared,
    elements_of,
    fit_schema,
    record_update,
    take,
    tracked,
    unmanaged,
)
from atoll.apiserver.patching.wording import too_deep
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.status import ApiError, bad_request, plain_500
from atoll.wire import Wire


def conflict_error(conflicts: Mapping[Owner, FieldSet]) -> ApiError:
    """409 that names every owner and every field in dispute."""
    found: list[tuple[Owner, str]] = []
    for owner in sorted(conflicts, key=Owner.sort_key):
        found.extend((owner, "".join(map(shown, path))) for path in paths(conflicts[owner]))
    causes: list[dict[str, Any]] = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_named(owner)}",
            "field": field,
        }
        for owner, field in found
    ]
    return ApiError(409, "Conflict", _message(found), details={"causes": causes})


def _message(found: list[tuple[Owner, str]]) -> str:
    if len(found) == 1:
        owner, field = found[0]
        return f"Apply failed with 1 conflict: conflict with {_named(owner)}: {field}"
    lines: list[str] = []
    last: Owner | None = None
    for owner, field in found:
        if owner != last:
            lines.append(f"conflicts with {_named(owner)}:")
            last = owner
        lines.append(f"- {field}")
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)


def _named(owner: Owner) -> str:
    text = written(owner.manager)
    if owner.subresource:
        text += f" with subresource {written(owner.subresource)}"
    if owner.operation == "Update":
        text += f" using {owner.api_version}"
    return text


_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATIONS_BYTES_MAX = 256 * 1024
_KUBECTL = "kubectl"


def after_apply(
    schema: Schema,
    live: Wire | None,
    applied: Wire,
    writer: Writer,
    now: str,
    *,
    force: bool,
    ignored: tuple[Path, ...] = (),
) -> Wire:
    """The live object with the configuration applied, and with its managedFields."""
    write = Write(schema, writer, now, ignored)
    try:
        _check(applied, schema)
        managers = stored(live)
        if live is not None and not managers.entries:
            _capture(managers, live, write)
        fit_schema(managers, schema)
        result = _apply(managers, live, applied, write, force=force)
    except Untypable as error:
        about = _about(live or {})
        raise plain_500(f"failed to create typed live object ({about}): {error}") from None
    except RecursionError:
        raise too_deep() from None
    result = with_entries(result, managers)
    return _with_last_applied(result, applied) if writer.manager == _KUBECTL else result


def _check(applied: Wire, schema: Schema) -> None:
    metadata = applied.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("managedFields"), list):
        raise bad_request("metadata.managedFields must be nil")
    errors = misfits(applied, schema)
    if errors:
        about = _about(applied)
        raise plain_500(f"failed to create typed patch object ({about}): {joined(errors)}")


def _about(obj: Wire) -> str:
    metadata = obj.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    place = f"{names.get('namespace', '')}/{names.get('name', '')}"
    return f"{place}; {group}/{version}, Kind={obj.get('kind', '')}"


def _capture(managers: Managers, live: Wire, write: Write) -> None:
    """Gives everything in an object that was never tracked to one owner, in place."""
    earlier = Writer("before-first-apply", write.writer.api_version, write.writer.subresource)
    record_update(managers, None, live, Write(write.schema, earlier, write.now, write.ignored))


def _apply(
    managers: Managers, live: Wire | None, applied: Wire, write: Write, *, force: bool
) -> Wire:
    """The merged object; the entries are brought up to date in place."""
    schema, owner = write.schema, write.writer.owner("Apply")
    last, time = managers.fields(owner), managers.time(owner)
    managers.entries.pop(owner, None)
    own = without(mentioned(applied, schema), elements_of(write.ignored))
    before = {} if live is None else unmanaged(live)
    result = merge(before, applied, schema)
    if last:
        result = prune(result, last, _owned(managers, own), schema)
    found = compared(live, result, write)
    if not force:
        _refuse_conflicts(managers, found.changed, live, write)
    take(managers, found)
    changed = live is None or not same(before, result)
    managers.put(owner, write.writer.api_version, tracked(own), write.now if changed else time)
    return result if changed else before


def _owned(managers: Managers, own: FieldSet) -> FieldSet:
    """What anybody owns, the applier's new fields included."""
    for entry in managers.entries.values():
        own = union(own, entry["fieldsV1"])
    return own


def _refuse_conflicts(
    managers: Managers, changed: FieldSet, live: Wire | None, write: Write
) -> None:
    conflicts: dict[Owner, FieldSet] = {}
    for owner, entry in managers.entries.items():
        disputed = intersection(entry["fieldsV1"], changed)
        if disputed:
            conflicts[owner] = disputed
    if conflicts and write.writer.manager == _KUBECTL and live is not None:
        allowed = _applied_by_client(live, write)
        left = {owner: difference(fields, allowed) for owner, fields in conflicts.items()}
        conflicts = {owner: fields for owner, fields in left.items() if fields}
    if conflicts:
        raise conflict_error(conflicts)


def _applied_by_client(live: Wire, write: Write) -> FieldSet:
    """What kubectl applied from the client's side and nobody changed since: its own to change."""
    text = _annotations(live).get(_LAST_APPLIED)
    if not isinstance(text, str):
        return {}
    try:
        last = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != write.writer.api_version:
        return {}
    if misfits(last, write.schema) or misfits(unmanaged(live), write.schema):
        return {}
    found = compare(last, unmanaged(live), write.schema)
    fields = difference(mentioned(last, write.schema), found.changed)
    return difference(fields, found.removed)


def _annotations(obj: Wire) -> dict[str, Any]:
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}


def _with_last_applied(result: Wire, applied: Wire) -> Wire:
    """The result with kubectl's annotation telling what was applied, if it has that annotation."""
    annotations = _annotations(result)
    if not annotations.get(_LAST_APPLIED):
        return result
    metadata = applied.get("metadata") or {}
    if "annotations" in metadata:
        others = {k: v for k, v in _annotations(applied).items() if k != _LAST_APPLIED}
        metadata = {**metadata, "annotations": others}
    text = go_json({**applied, "metadata": metadata}) + "\n"
    annotations = {**annotations, _LAST_APPLIED: text}
    size = sum(len(key.encode()) + len(str(value).encode()) for key, value in annotations.items())
    if size > _ANNOTATIONS_BYTES_MAX:
        del annotations[_LAST_APPLIED]
    return {**result, "metadata": {**result["metadata"], "annotations": annotations}}
