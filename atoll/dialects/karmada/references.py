"""What bindings and Works are for: templates, owners, and each other, by name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from atoll.dialects.karmada import names
from atoll.model.action import Ref
from atoll.model.resource_binding import ResourceBinding
from atoll.wire import Object

API_VERSION = "work.karmada.io/v1alpha2"


def template_of(binding: Object) -> Ref:
    """The template a binding is for."""
    resource = binding["spec"]["resource"]
    return Ref(
        resource["apiVersion"], resource["kind"], resource.get("namespace", ""), resource["name"]
    )


def owner_of(binding: Object) -> Object | None:
    """The reference to the template that a binding is for."""
    owners = (binding.get("metadata") or {}).get("ownerReferences") or ()
    return next((each for each in owners if each.get("controller")), None)


def binding_of(template: Ref) -> Ref:
    """The binding a template has, if it has one."""
    kind = "ResourceBinding" if template.namespace else "ClusterResourceBinding"
    name = names.binding_name(template.kind, template.name)
    return Ref(API_VERSION, kind, template.namespace, name)


def work_bindings(work: Object) -> Iterable[Ref]:
    """The binding a Work is of."""
    annotations = work.get("metadata", {}).get("annotations") or {}
    if names.BINDING_NAME in annotations:
        namespace = annotations.get(names.BINDING_NAMESPACE, "")
        return [Ref(API_VERSION, "ResourceBinding", namespace, annotations[names.BINDING_NAME])]
    if names.CLUSTER_BINDING_NAME in annotations:
        name = annotations[names.CLUSTER_BINDING_NAME]
        return [Ref(API_VERSION, "ClusterResourceBinding", "", name)]
    return []


WORK_API = "work.karmada.io/v1alpha1"


@dataclass(frozen=True, slots=True)
class Marks:
    """Labels and annotations that say whose something is."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]


def marks_of(binding: ResourceBinding) -> Marks:
    """By which labels and annotations a binding's Works and their objects are known."""
    meta = binding.meta
    if binding.is_cluster_wide:
        key, where = names.CLUSTER_BINDING_ID, {names.CLUSTER_BINDING_NAME: meta.name}
    else:
        key = names.BINDING_ID
        where = {names.BINDING_NAMESPACE: meta.namespace, names.BINDING_NAME: meta.name}
    return Marks({key: meta.labels.get(key, "")}, where)
