"""PATCH: a change to an object, in one of four languages; apply may also create."""

from collections.abc import Callable

from atoll.apiserver.applying.applies import after_apply
from atoll.apiserver.bodies.patches import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Patch,
)
from atoll.apiserver.fields import error as fields
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.options import WriteOptions, parse_revision, write_options
from atoll.apiserver.patching.json_patch import apply_json_patch
from atoll.apiserver.patching.merge_patch import apply_merge_patch
from atoll.apiserver.patching.strategic import apply_strategic_patch
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.status import (
    MODIFIED,
    ApiError,
    bad_request,
    conflict,
    invalid,
    not_found,
    unsupported_media_type,
)
from atoll.apiserver.verbs.beginning import check_namespace
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.forming import Form, formed_new, formed_update
from atoll.apiserver.verbs.intake import fitted, read_patch
from atoll.apiserver.verbs.sides import untracked
from atoll.apiserver.verbs.updating import check_name, check_same_name
from atoll.apiserver.verbs.writing import Verdict, Written, write_admitted
from atoll.wire import Wire

_ALL = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)


def accepted(call: Call) -> tuple[str, ...]:
    """The patch languages this resource understands; custom kinds have no merge keys."""
    if call.resource.custom:
        return (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    return _ALL


async def patch(api: Api, call: Call) -> Written:
    """Change an object by the patch in the request's body."""
    media_type = patch_type(call)
    options = write_options(call.query, "PatchOptions")
    check_options(media_type, options)
    if media_type == APPLY_PATCH:
        return await _apply(api, call, options)
    content = read_patch(call, media_type, options.field_validation)
    change = patcher(content, media_type, call.resource.schema)
    form = Form(api, call, options)

    async def decide(old: Wire | None) -> Verdict:
        if old is None:
            raise not_found(call.resource.plural, call.resource.group, call.name)
        proposed = fitted(call, change(old), content, options.field_validation)
        check_patched(call, proposed, old)
        return await formed_update(form, proposed, old)

    return await write_admitted(api, call.resource, call.key(), decide, dry_run=options.dry_run)


def patch_type(call: Call) -> str:
    media_type = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in _ALL:
        raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    if media_type not in accepted(call):
        raise unsupported_media_type(accepted(call))
    return media_type


def check_options(media_type: str, options: WriteOptions) -> None:
    errors = []
    if media_type != APPLY_PATCH and options.force is not None:
        errors.append(fields.forbidden("force", "may not be specified for non-apply patch"))
    if media_type == APPLY_PATCH and not options.field_manager:
        errors.append(fields.required("fieldManager", "is required for apply patch"))
    if errors:
        raise invalid("PatchOptions", "meta.k8s.io", "", errors)


def patcher(content: Patch, media_type: str, schema: Schema) -> Callable[[Wire], Wire]:
    """The change a patch asks for, as a function of the object."""
    if media_type == JSON_PATCH:
        return lambda old: apply_json_patch(old, content.value)
    if media_type == MERGE_PATCH:
        return lambda old: apply_merge_patch(old, content.value)
    return lambda old: apply_strategic_patch(old, content.value, schema)


def check_patched(call: Call, proposed: Wire, old: Wire) -> None:
    """ApiError if the patch renames the object or was made for another version of it."""
    check_name(call, proposed)
    check_namespace(call.resource, call.namespace, proposed)
    check_version(call, proposed, old)


def check_version(call: Call, proposed: Wire, old: Wire) -> None:
    """ApiError 409 if the proposal names another version than the one there is."""
    given, before = metadata(proposed).get("resourceVersion") or "", metadata(old)
    if parse_revision(given) and given != before["resourceVersion"]:
        raise conflict(call.resource.plural, call.resource.group, before["name"], MODIFIED)


async def _apply(api: Api, call: Call, options: WriteOptions) -> Written:
    content = read_patch(call, APPLY_PATCH, options.field_validation)
    applied: Wire = content.value
    _check_applied(call, applied)
    form = Form(api, call, options, applied=True)
    ignored = untracked(call.resource, call.subresource)
    uid = api.effects.chance.uuid("uid")

    def merged(live: Wire | None) -> Wire:
        result = after_apply(
            call.resource.schema,
            live,
            applied,
            form.writer(),
            api.timestamp(),
            force=bool(options.force),
            ignored=ignored,
        )
        return fitted(call, result, content, options.field_validation)

    async def decide(old: Wire | None) -> Verdict:
        if old is None and call.subresource:
            raise not_found(call.resource.plural, call.resource.group, call.name)
        result = merged(old)
        check_same_name(call, metadata(applied).get("name") or call.name)
        if old is not None:
            check_version(call, applied, old)
            return await formed_update(form, result, old)
        if given := metadata(applied).get("uid"):
            why = (
                f"uid mismatch: the provided object specified uid {given},"
                " and no existing object was found"
            )
            raise conflict(call.resource.plural, call.resource.group, call.name, why)
        return await formed_new(form, result, uid=uid)

    return await write_admitted(api, call.resource, call.key(), decide, dry_run=options.dry_run)


def _check_applied(call: Call, applied: Wire) -> None:
    resource = call.resource
    given = (applied.get("apiVersion"), applied.get("kind"))
    if given == (None, None):
        raise bad_request("invalid object type: /, Kind=")
    if given != (resource.api_version, resource.kind):
        raise bad_request(
            f"{given[0] or ''}, Kind={given[1] or ''} does not match the endpoint's"
            f" {resource.api_version}, Kind={resource.kind}"
        )
