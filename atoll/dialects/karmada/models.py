"""Resource models: classes of nodes in a Cluster's spec, and how many of each its status counts.

As Karmada reads them: of two models of one grade the last counts, counts of one grade are added,
grades that only the status names are ignored, and a negative count makes all of them unknown.
"""

from functools import lru_cache

from atoll.dialects.wire import INT64, Written, amount, at, elements, name, number, parts
from atoll.model.amount import PODS
from atoll.model.cluster import Grade
from atoll.wire import Object


def grades(spec: Object) -> tuple[Grade, ...]:
    """The resource model by ascending grade, shared by all clusters that have the same."""
    models = elements(spec, "resourceModels", "spec")
    return _grades(Written.of({"resourceModels": models})) if models else ()


@lru_cache(maxsize=1024)
def _grades(written: Written) -> tuple[Grade, ...]:
    found = {}
    for here, each in parts(written.wire, "resourceModels", "spec"):
        grade = number(each, "grade", here, most=INT64) or 0
        found[grade] = Grade(grade, _least(each, here))
    return tuple(found[grade] for grade in sorted(found))


def _least(model: Object, path: str) -> tuple[tuple[str, int], ...]:
    """What each node of a grade has at least; pods are not modelled."""
    found = {}
    for here, each in parts(model, "ranges", path):
        resource = name(each, "name", here)
        found[resource] = amount(each.get("min", "0"), at(here, "min")).in_its_unit(resource)
    found.pop(PODS, None)
    return tuple(sorted(found.items()))


def nodes_by_grade(summary: Object, models: tuple[Grade, ...]) -> tuple[int, ...]:
    """How many nodes are of each grade; empty where the summary or the spec has no model."""
    counts = {each.grade: 0 for each in models}
    counted = False
    for here, each in parts(summary, "allocatableModelings", "status.resourceSummary"):
        grade = number(each, "grade", here, most=INT64) or 0
        nodes = number(each, "count", here, least=-INT64, most=INT64) or 0
        if nodes < 0:
            return ()
        counted = True
        if grade in counts:
            counts[grade] += nodes
    return tuple(counts.values()) if counted else ()
