"""The module `kube` that scripts may require: sums of quantities, needs and dependencies of pods.

Plain values come in and go out; what is wrong is an Invalid that the script is told as an error.
Pods are understood as everywhere else in Atoll; quantities are written as Kubernetes does.
"""

from decimal import Decimal
from typing import Any

from atoll.dialects.wire import EXACT, checked, part, quantity
from atoll.errors import Invalid
from atoll.interpreting.depending import of_pods
from atoll.interpreting.kinds import POD
from atoll.interpreting.quantities import quantity_text
from atoll.interpreting.requirements import requirements


def resource_add(*written: Any) -> str:
    """The sum of quantities, in the form of the first that is not zero; nil counts as none."""
    total, binary = Decimal(), False
    for index, each in enumerate(written, 1):
        value, in_bytes = _quantity(each, index)
        binary = in_bytes if not total else binary
        total = EXACT.add(total, value)
    return quantity_text(total, binary=binary)


def get_resource_quantity(*written: Any) -> float:
    """A quantity as a number, which must not be negative."""
    if len(written) != 1:
        raise Invalid("getResourceQuantity", len(written), "takes one argument")
    value, _ = _quantity(written[0], 1)
    if value < 0:
        raise Invalid("getResourceQuantity", written[0], "must not be negative")
    return float(value)


def accurate_pod_requirements(*templates: Any) -> dict[str, Any] | None:
    """What a pod of this template needs; nil if it asks for nothing."""
    if len(templates) != 1:
        raise Invalid("accuratePodRequirements", len(templates), "takes one argument")
    template = checked(templates[0] or {}, "podTemplate")
    return requirements(part(template, "spec", "") or {}, "spec")


def get_pod_dependencies(*arguments: Any) -> list[dict[str, Any]]:
    """What a pod of this template refers to in its namespace."""
    if len(arguments) != 2:
        raise Invalid("getPodDependencies", len(arguments), "takes two arguments")
    template, namespace = checked(arguments[0] or {}, "podTemplate"), arguments[1]
    if namespace is not None and not isinstance(namespace, str):
        raise Invalid("namespace", namespace, "must be text")
    metadata = {"namespace": "default" if namespace is None else namespace}
    spec = part(template, "spec", "") or {}
    pod = {"apiVersion": POD[0], "kind": POD[1], "metadata": metadata, "spec": spec}
    return [each.wire() for each in of_pods(pod)]


FUNCTIONS = {
    "resourceAdd": resource_add,
    "accuratePodRequirements": accurate_pod_requirements,
    "getPodDependencies": get_pod_dependencies,
    "getResourceQuantity": get_resource_quantity,
}


def _quantity(written: Any, index: int) -> tuple[Decimal, bool]:
    if written is None:
        return Decimal(), False
    if not isinstance(written, str):
        raise Invalid(f"argument {index}", written, "must be a quantity as text, such as 500m")
    return quantity(written, f"argument {index}")
