"""The scale subresource: how many replicas an object asks for, whatever its kind."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from atoll.apiserver.applying.applies import after_apply
from atoll.apiserver.applying.scaling import SCALE_VERSION, after_scale, scale_entries
from atoll.apiserver.applying.updates import Writer, after_update
from atoll.apiserver.bodies.patches import APPLY_PATCH
from atoll.apiserver.fields import error as fields
from atoll.apiserver.kinds.labels import printed, printed_labels
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.paths import at, put
from atoll.apiserver.options import write_options
from atoll.apiserver.resource import Resource, Scale
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.status import invalid, not_found
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.converting import have_converted
from atoll.apiserver.verbs.forming import Form, formed_update
from atoll.apiserver.verbs.intake import fitted, never_stored, read_object, read_patch
from atoll.apiserver.verbs.patching import check_options, check_version, patch_type, patcher
from atoll.apiserver.verbs.reading import get
from atoll.apiserver.verbs.updating import check_name
from atoll.apiserver.verbs.writing import Verdict, stored_object, write_admitted
from atoll.wire import Wire

_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(scale: Scale, obj: Wire) -> Wire:
    """The Scale that describes this object."""
    status: Wire = {"replicas": at(obj, scale.status_replicas) or 0}
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


def _selector_text(selector: Any) -> str:
    """A selector as one line; a custom kind keeps it as text, an old one as plain labels."""
    if isinstance(selector, str):
        return selector
    if not isinstance(selector, dict) or not selector:
        return ""
    if selector.keys() <= {"matchLabels", "matchExpressions"}:
        return printed(selector)
    return printed_labels(selector)


def _scale(call: Call) -> Scale:
    scale = call.resource.strategy.scale
    assert scale is not None, "only resources that scale have this subresource"
    return scale


async def get_scale(api: Api, call: Call) -> Wire:
    record = get(api, call)
    await have_converted(api, call.resource, [record])
    obj = stored_object(call.resource, record)
    assert obj is not None
    return scale_of(_scale(call), obj)


async def update_scale(api: Api, call: Call) -> Wire:
    """Take the number of replicas from the Scale in the request's body."""
    options = write_options(call.query, "UpdateOptions")
    proposed = read_object(replace(call, resource=_scales()), options.field_validation)
    check_name(call, proposed)
    return await _rescale(Form(api, call, options), lambda _: proposed)


async def patch_scale(api: Api, call: Call) -> Wire:
    """Change the object's Scale by the patch in the request's body."""
    options = write_options(call.query, "PatchOptions")
    media_type = patch_type(call)
    check_options(media_type, options)
    content = read_patch(call, media_type, options.field_validation)
    form, as_scale = Form(api, call, options), replace(call, resource=_scales())
    change = patcher(content, media_type, _schema())
    if media_type == APPLY_PATCH:
        change = partial(_applied, form, content.value)
    return await _rescale(
        form, lambda scale: fitted(as_scale, change(scale), content, options.field_validation)
    )


def _scales() -> Resource:
    return never_stored("autoscaling", "v1", "Scale")


def _schema() -> Schema:
    return _scales().schema


def _applied(form: Form, applied: Wire, scale: Wire) -> Wire:
    now, force = form.api.timestamp(), bool(form.options.force)
    return after_apply(_schema(), scale, applied, _writer(form), now, force=force)


def _writer(form: Form) -> Writer:
    return form.writer()._replace(api_version=SCALE_VERSION)


async def _rescale(form: Form, change: Callable[[Wire], Wire]) -> Wire:
    """Write the parent of a changed Scale; its owners of replicas are those of the Scale."""
    call, scale = form.call, _scale(form.call)
    resource, now = call.resource, form.api.timestamp()

    async def decide(old: Wire | None) -> Verdict:
        if old is None:
            raise not_found(resource.plural, resource.group, call.name)
        before = _tracked(scale, old)
        proposed = change(before)
        check_version(call, proposed, old)
        spec = {"replicas": _replicas(call, proposed)}
        after = {**before, "metadata": _entries_of(before, proposed), "spec": spec}
        if metadata(proposed).get("managedFields") == metadata(before).get("managedFields"):
            after = after_update(_schema(), before, after, _writer(form), now)
        parent = put(old, scale.spec_replicas, spec["replicas"])
        parent = after_scale(parent, after, scale.spec_replicas, resource.api_version)
        return await formed_update(replace(form, applied=True), parent, old)

    written = await write_admitted(
        form.api, resource, call.key(), decide, dry_run=form.options.dry_run
    )
    return scale_of(scale, written.object)


def _entries_of(before: Wire, proposed: Wire) -> Wire:
    entries = metadata(proposed).get("managedFields", metadata(before).get("managedFields"))
    return {**metadata(before), **({"managedFields": entries} if entries else {})}


def _tracked(scale: Scale, parent: Wire) -> Wire:
    """The parent's Scale, with the owners of its replicas."""
    shown = scale_of(scale, parent)
    if entries := scale_entries(parent, scale.spec_replicas):
        shown["metadata"]["managedFields"] = entries
    return shown


def _replicas(call: Call, proposed: Wire) -> int:
    replicas: int = at(proposed, ("spec", "replicas")) or 0
    if replicas < 0:
        if call.resource.definition is None:
            error = fields.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise invalid("Scale", "autoscaling", call.name, [error])
        where = "." + ".".join(_scale(call).spec_replicas)
        error = fields.invalid(where, replicas, "should be a non-negative integer")
        raise invalid(call.resource.kind, call.resource.group, call.name, [error])
    return replicas
