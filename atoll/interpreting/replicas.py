"""How many replicas a workload asks for, and what each needs; and the same workload with another
number. One template comes in at a time; where its replicas run is decided elsewhere.
"""

from typing import Any

from atoll.dialects.karmada import demand
from atoll.dialects.wire import INT32, number
from atoll.errors import Invalid
from atoll.interpreting.fields import inner, replaced
from atoll.interpreting.kinds import named, pod_spec
from atoll.interpreting.operations import Replicas
from atoll.interpreting.requirements import requirements
from atoll.wire import Object


def of_workload(template: Object) -> Replicas:
    """`spec.replicas`; one if absent, as Kubernetes defaults it."""
    return _each_like(template, _wanted(template, "replicas"))


def of_job(template: Object) -> Replicas:
    """Pods running at a time: never more than there are completions to reach."""
    parallelism = _wanted(template, "parallelism")
    completions = number(inner(template, "spec"), "completions", "spec")
    return _each_like(
        template, parallelism if completions is None else min(parallelism, completions)
    )


def of_pod(template: Object) -> Replicas:
    """A pod is one."""
    return _each_like(template, 1)


def _wanted(template: Object, field: str) -> int:
    found = number(inner(template, "spec"), field, "spec")
    return 1 if found is None else found


def _each_like(template: Object, count: int) -> Replicas:
    path, spec = pod_spec(template)
    needs = requirements(spec, path)
    if needs is None:
        return Replicas(count)
    return Replicas(count, needs, demand.decode(needs, path, named(template, "namespace")))


def with_replicas(template: Object, count: int) -> dict[str, Any]:
    """The workload with so many replicas."""
    return replaced(template, ("spec", "replicas"), _checked(count))


def with_parallelism(template: Object, count: int) -> dict[str, Any]:
    """The job with so many pods at a time."""
    return replaced(template, ("spec", "parallelism"), _checked(count))


def _checked(count: int) -> int:
    if not 0 <= count <= INT32:
        raise Invalid("replicas", count, f"must be between 0 and {INT32}")
    return count
