"""What one replica needs, as bindings store it: `replicaRequirements` of a pod's spec.

Requests are added up and written as Kubernetes writes quantities; the nodes a pod can run on are
passed on as the template says it.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from atoll.dialects.kubernetes.pods import demand
from atoll.dialects.wire import part
from atoll.errors import Invalid
from atoll.interpreting.quantities import quantity_text
from atoll.model.amount import CPU, Amount
from atoll.model.demand import Demand
from atoll.wire import Object

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def requirements(pod: Object, path: str) -> dict[str, Any] | None:
    """What a pod of this spec needs; None if it asks for nothing."""
    needs = _demand(pod, path)
    affinity = part(part(pod, "affinity", path) or {}, "nodeAffinity", path) or {}
    nodes = _given(
        nodeSelector=pod.get("nodeSelector"),
        tolerations=pod.get("tolerations"),
        # An affinity without terms is one that no node meets; it is not the same as none.
        hardNodeAffinity=affinity.get(_REQUIRED),
    )
    requests = {resource: written(resource, amount) for resource, amount in needs.requests}
    found = _given(nodeClaim=nodes, resourceRequest=requests)
    return found | _given(priorityClassName=needs.priority_class) if found else None


def written(resource: str, amount: Amount) -> str:
    """An amount as Kubernetes writes it: `250m`, `2`, `512Mi`. Only CPUs come in thousandths."""
    value = Decimal(amount.milli) / 1000 if resource == CPU else Decimal(amount.units)
    return quantity_text(value, binary=amount.binary)


def _demand(pod: Object, path: str) -> Demand:
    """The pod's demand, with errors that say where in the template the pod is."""
    try:
        return demand(pod)
    except Invalid as wrong:
        field = path + wrong.field.removeprefix("spec")
        raise Invalid(field, wrong.value, wrong.problem) from None


def _given(**fields: Mapping[str, Any] | list[Any] | str | None) -> dict[str, Any]:
    return {
        key: value
        for key, value in fields.items()
        if value or (value is not None and key == "hardNodeAffinity")
    }
