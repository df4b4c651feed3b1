"""DELETE, of one object or of all that match."""

from functools import partial

from atoll.apiserver.admission import Admission, Settle
from atoll.apiserver.objects.ending import Ending, ending
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.options import DeleteOptions, delete_options
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import ApiError, conflict, not_found, success
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.intake import read_options
from atoll.apiserver.verbs.reading import list_objects
from atoll.apiserver.verbs.writing import Drop, Leave, Save, Verdict, Written, same, write_admitted
from atoll.wire import Wire

_JOBS_ORPHAN = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to"
    " remove them or set propagationPolicy=Orphan to suppress this warning"
)


async def delete(api: Api, call: Call) -> Wire:
    """Delete one object; gives what the client is answered: the object, or a Status."""
    options = delete_options(read_options(call), call.query)
    written = await delete_object(api, call, options)
    resource = call.resource
    if written.removed and not resource.strategy.returns_deleted:
        uid = metadata(written.object)["uid"]
        return success(resource.plural, resource.group, call.name, uid)
    return written.object


async def delete_object(
    api: Api, call: Call, options: DeleteOptions, *, is_one_of_many: bool = False
) -> Written:
    """Delete one object, or mark it as to be deleted while somebody holds it."""
    resource = call.resource
    if resource.kind == "Job" and resource.group == "batch" and options.propagation is None:
        call.warnings.append(_JOBS_ORPHAN)

    async def decide(old: Wire | None) -> Verdict:
        if old is None:
            raise not_found(resource.plural, resource.group, call.name)
        _check_preconditions(resource, options, old)
        admission = _admission(call, options, old, is_unnamed=is_one_of_many)
        settle = await api.hooks.check(admission)
        return _verdict(ending(old, resource, options, api.now()), old, settle)

    return await write_admitted(api, resource, call.key(), decide, dry_run=options.dry_run)


def _verdict(result: Ending, old: Wire, settle: Settle | None) -> Verdict:
    if result.gone:
        return Drop(result.state, settle)
    return Leave(old) if same(result.state, old) else Save(result.state, settle)


def _admission(call: Call, options: DeleteOptions, old: Wire, *, is_unnamed: bool) -> Admission:
    return Admission(
        operation="DELETE",
        resource=call.resource,
        namespace=call.namespace,
        name=metadata(old)["name"],
        identity=call.identity,
        old=old,
        dry_run=options.dry_run,
        is_unnamed=is_unnamed,
        options=partial(_said, options),
        warnings=call.warnings,
    )


def _said(options: DeleteOptions) -> Wire:
    """The options of the request, as far as the client gave any."""
    wanted = {"uid": options.precondition_uid, "resourceVersion": options.precondition_revision}
    preconditions = {key: value for key, value in wanted.items() if value is not None}
    said = {
        "gracePeriodSeconds": options.grace_period_s,
        "preconditions": preconditions or None,
        "propagationPolicy": options.propagation,
        "dryRun": ["All"] if options.dry_run else None,
    }
    given = {key: value for key, value in said.items() if value is not None}
    return {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **given}


def _check_preconditions(resource: Resource, options: DeleteOptions, old: Wire) -> None:
    meta, version = metadata(old), options.precondition_revision
    asked = (
        ("UID", options.precondition_uid, meta["uid"], "deleted and then recreated"),
        ("ResourceVersion", version, meta["resourceVersion"], "modified"),
    )
    for what, wanted, there, after in asked:
        if wanted is not None and wanted != there:
            why = (
                f"the {what} in the precondition ({wanted}) does not match the {what} in record"
                f" ({there}). The object might have been {after}"
            )
            raise conflict(resource.kind, resource.group, meta["name"], why)


async def delete_collection(api: Api, call: Call) -> list[Wire]:
    """Delete every object that matches the query; gives them as they were."""
    options = delete_options(read_options(call), call.query)
    doomed = await list_objects(api, call)
    for obj in doomed:
        meta = metadata(obj)
        namespace = meta.get("namespace", "")
        one = Call(
            call.request, call.resource, call.identity, namespace=namespace, name=meta["name"]
        )
        try:
            await delete_object(api, one, options, is_one_of_many=True)
        except ApiError as error:
            if error.code != 404:  # somebody else was quicker
                raise
    return doomed
