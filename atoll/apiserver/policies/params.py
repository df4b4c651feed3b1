"""The parameters of a policy: the objects that one of its bindings refers to."""

import orjson

from atoll.apiserver.admission import Admission
from atoll.apiserver.kinds.labels import selector_of
from atoll.apiserver.kinds.reading import Object, given, text
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.policies.policy import Binding, Policy
from atoll.apiserver.resource import Resource
from atoll.apiserver.verbs.call import Api, object_key


class Misconfigured(Exception):
    """A binding refers to parameters in a way that makes no sense, or to none that must be."""


def params_of(
    api: Api, policy: Policy, binding: Binding, admission: Admission
) -> list[Object | None]:
    """The parameters to evaluate a policy with, one after the other; [None] if it has none."""
    kind, wanted = policy.param_kind, binding.params
    if kind is None or wanted is None:
        return [None]
    group, _, version = text(kind, "apiVersion").rpartition("/")
    resource = api.catalog.kind(group, version, text(kind, "kind"))
    if resource is None:
        said = f"{text(kind, 'apiVersion')}, Kind={text(kind, 'kind')}"
        raise Misconfigured(f"failed to find resource referenced by paramKind: '{said}'")
    found = _found(api, resource, wanted, _namespace(resource, wanted, admission))
    if not found and text(wanted, "parameterNotFoundAction") == "Deny":
        why = "no params found for policy binding with `Deny` parameterNotFoundAction"
        raise Misconfigured(why)
    return [*found]


def _namespace(resource: Resource, wanted: Object, admission: Admission) -> str:
    said = text(wanted, "namespace")
    if not resource.namespaced:
        if said:
            raise Misconfigured(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
        return ""
    inside = admission.namespace
    if admission.resource.collection == "namespaces":
        inside = admission.name
    if not said and not inside:
        raise Misconfigured(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    return said or inside


def _found(api: Api, resource: Resource, wanted: Object, namespace: str) -> list[Object]:
    name, selector = text(wanted, "name"), given(wanted, "selector")
    if name:
        record = api.store.latest(resource.collection, object_key(resource, namespace, name))
        return [] if record is None else [resource.from_stored(orjson.loads(record.value))]
    matches = selector_of(selector or {}).matches
    objects = [
        resource.from_stored(orjson.loads(record.value))
        for record in api.store.page(resource.collection).records
    ]
    return [
        obj
        for obj in objects
        if (not namespace or metadata(obj).get("namespace") == namespace)
        and matches(metadata(obj).get("labels") or {})
    ]
