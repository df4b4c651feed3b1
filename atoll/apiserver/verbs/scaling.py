"""The scale subresource: how many replicas an object asks for, whatever its kind."""

from collections.abc import Callable
from typing import Any

from atoll.apiserver.fields import error as fields
from atoll.apiserver.intake import read_plain
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.options import WriteOptions, parse_revision, write_options
from atoll.apiserver.resource import Path, Scale
from atoll.apiserver.status import MODIFIED, bad_request, conflict, invalid, not_found
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.forming import Form, formed_update
from atoll.apiserver.verbs.patching import APPLY, patch_type, patcher
from atoll.apiserver.verbs.reading import get
from atoll.apiserver.verbs.writing import Verdict, stored_object, write

Object = dict[str, Any]

_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(scale: Scale, obj: Object) -> Object:
    """The Scale that describes this object."""
    status: Object = {"replicas": at(obj, scale.status_replicas) or 0}
    if selector := _selector_text(at(obj, scale.selector)) if scale.selector else "":
        status["selector"] = selector
    meta = metadata(obj)
    spec = at(obj, scale.spec_replicas)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in _SHOWN if key in meta},
        "spec": {"replicas": spec} if spec else {},
        "status": status,
    }


def at(obj: Any, path: Path) -> Any:
    for key in path:
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj


def _put(obj: Object, path: Path, value: Any) -> Object:
    head, *rest = path
    if not rest:
        return {**obj, head: value}
    return {**obj, head: _put(obj.get(head) or {}, tuple(rest), value)}


def _selector_text(selector: Any) -> str:
    """A label selector as one line; custom kinds keep theirs as text already."""
    if isinstance(selector, str):
        return selector
    if not isinstance(selector, dict):
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    terms = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    terms += [_expression_text(term) for term in selector.get("matchExpressions") or []]
    return ",".join(sorted(terms))


def _expression_text(term: Object) -> str:
    key, values = term.get("key", ""), ",".join(sorted(term.get("values") or []))
    match term.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
    return str(key)


def _scale(call: Call) -> Scale:
    scale = call.resource.strategy.scale
    assert scale is not None, "only resources that scale have this subresource"
    return scale


def get_scale(api: Api, call: Call) -> Object:
    obj = stored_object(call.resource, get(api, call))
    assert obj is not None
    return scale_of(_scale(call), obj)


async def update_scale(api: Api, call: Call) -> Object:
    """Take the number of replicas from the Scale in the request's body."""
    options = write_options(call.query, "UpdateOptions")
    proposed = read_plain(call)
    if metadata(proposed).get("name") not in (None, call.name):
        raise bad_request("the name of the object does not match the name on the URL")
    return await _rescale(api, call, options, lambda _: proposed)


async def patch_scale(api: Api, call: Call) -> Object:
    """Change the object's Scale by the patch in the request's body."""
    options = write_options(call.query, "PatchOptions")
    media_type = patch_type(call)
    if media_type == APPLY:
        applied = read_plain(call)
        return await _rescale(
            api, call, options, lambda scale: {**scale, "spec": applied.get("spec") or {}}
        )
    return await _rescale(api, call, options, patcher(call, media_type))


async def _rescale(
    api: Api, call: Call, options: WriteOptions, change: Callable[[Object], Object]
) -> Object:
    form, scale = Form(api, call, options), _scale(call)

    def decide(old: Object | None) -> Verdict:
        if old is None:
            raise not_found(call.resource.plural, call.resource.group, call.name)
        proposed = change(scale_of(scale, old))
        _check_version(call, proposed, old)
        replicas = _replicas(call, proposed)
        return formed_update(form, _put(old, scale.spec_replicas, replicas), old)

    written = await write(api, call.resource, call.key(), decide, dry_run=options.dry_run)
    return scale_of(scale, written.object)


def _replicas(call: Call, proposed: Object) -> int:
    replicas = (proposed.get("spec") or {}).get("replicas") or 0
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bad_request(
            'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal'
            " string into Go struct field ScaleSpec.spec.replicas of type int32"
        )
    if replicas < 0:
        error = fields.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid("Scale", "autoscaling", call.name, [error])
    return replicas


def _check_version(call: Call, proposed: Object, old: Object) -> None:
    given = metadata(proposed).get("resourceVersion") or ""
    if parse_revision(given) and given != metadata(old)["resourceVersion"]:
        raise conflict(call.resource.plural, call.resource.group, call.name, MODIFIED)
