"""POST to the binding of a pod, or to bindings: the pod is given its node."""

from dataclasses import replace

from atoll.apiserver.admission import Admission, Settle
from atoll.apiserver.fields import error as fields
from atoll.apiserver.kinds.reading import part, text
from atoll.apiserver.objects.conditions import with_condition
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.options import write_options
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import bad_request, conflict, done, not_found, plain_500
from atoll.apiserver.verbs.call import Api, Call, object_key
from atoll.apiserver.verbs.intake import read_object
from atoll.apiserver.verbs.updating import check_meant
from atoll.apiserver.verbs.writing import Save, Verdict, write
from atoll.wire import Wire

PODS = ("", "v1", "pods")
BINDINGS = ("", "v1", "bindings")


async def bind(api: Api, call: Call) -> Wire:
    """Give the pod that the Binding in the body names its node; ApiError if that cannot be."""
    options = write_options(call.query, "CreateOptions")
    pods, bindings = served(api, *PODS), served(api, *BINDINGS)
    binding = read_object(replace(call, resource=bindings), options.field_validation)
    name = text(binding, "metadata", "name")
    if call.subresource and name != call.name:
        raise bad_request("name in URL does not match name in Binding object")
    _check_target(part(binding, "target"))
    settle = await admitted(api, call, name, binding, dry_run=options.dry_run)

    def decide(old: Wire | None) -> Verdict:
        if settle is not None:
            settle()
        if old is None:
            raise not_found(pods.plural, pods.group, name)
        check_meant(pods, binding, old, "uid")
        check_meant(pods, binding, old, "resourceVersion")
        if why := _why_not(old):
            raise conflict("pods/binding", "", name, why)
        return Save(_bound(old, binding, api.timestamp()))

    key = object_key(pods, call.namespace, name)
    await write(api, pods, key, decide, dry_run=options.dry_run)
    return done(201)


async def admitted(
    api: Api, call: Call, name: str, posted: Wire, *, dry_run: bool
) -> Settle | None:
    """ApiError if what is posted to a pod may not be; else what to check again if it took time."""
    return await api.hooks.check(
        Admission(
            operation="CREATE",
            resource=call.resource,
            namespace=call.namespace,
            name=name,
            identity=call.identity,
            object=posted,
            subresource=call.subresource,
            dry_run=dry_run,
        )
    )


def served(api: Api, group: str, version: str, plural: str) -> Resource:
    """A resource that every server has."""
    found = api.catalog.find(group, version, plural)
    assert found is not None, f"{plural} are always served"
    return found


def _check_target(target: Wire) -> None:
    errors = []
    if text(target, "kind") not in ("", "Node"):
        known = ("Node", "<empty>")
        errors.append(fields.not_supported("target.kind", target["kind"], known))
    if not text(target, "name"):
        errors.append(fields.required("target.name"))
    if errors:
        told = ", ".join(str(error) for error in errors)
        raise plain_500(told if len(errors) == 1 else f"[{told}]")


def _why_not(pod: Wire) -> str:
    name, spec = metadata(pod)["name"], part(pod, "spec")
    if metadata(pod).get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    return f"pod {name} has non-empty .spec.schedulingGates" if spec.get("schedulingGates") else ""


def _bound(pod: Wire, binding: Wire, now: str) -> Wire:
    meta, status = dict(metadata(pod)), dict(part(pod, "status"))
    for key in ("annotations", "labels"):
        given = metadata(binding).get(key)
        if given:
            meta[key] = {**(meta.get(key) or {}), **given}
    status.pop("nominatedNodeName", None)
    return {
        **pod,
        "metadata": meta,
        "spec": {**part(pod, "spec"), "nodeName": binding["target"]["name"]},
        "status": with_condition(status, {"type": "PodScheduled", "status": "True"}, now),
    }
