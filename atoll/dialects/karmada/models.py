"""Resource models: classes of nodes in a Cluster's spec, and how many of each its status counts.

As Karmada reads them: of two models of one grade the last counts, counts of one grade are added,
grades that only the status names are ignored, and a negative count makes all of them unknown.
"""

from functools import lru_cache

from atoll.dialects.wire import INT64, Wire, amount, elements, name, number, parts
from atoll.errors import Invalid
from atoll.model.amount import PODS
from atoll.model.cluster import Grade

Ranges = tuple[tuple[str, str | int | float], ...]
MODELS = "spec.resourceModels"


def grades(spec: Wire) -> tuple[Grade, ...]:
    """The resource model by ascending grade, shared by all clusters that have the same."""
    models = elements(spec, "resourceModels", "spec")
    return (
        _grades(tuple(_model(*each) for each in parts(spec, "resourceModels", "spec")))
        if (models)
        else ()
    )


def _model(path: str, wire: Wire) -> tuple[int, Ranges]:
    ranges = []
    for here, each in parts(wire, "ranges", path):
        least = each.get("min", "0")
        if isinstance(least, bool) or not isinstance(least, str | int | float):
            raise Invalid(f"{here}.min", least, "must be a quantity")
        ranges.append((name(each, "name", here), least))
    return number(wire, "grade", path, most=INT64) or 0, tuple(ranges)


@lru_cache(maxsize=1024)
def _grades(models: tuple[tuple[int, Ranges], ...]) -> tuple[Grade, ...]:
    found = {
        grade: Grade(grade, _least(ranges, f"{MODELS}[{index}]"))
        for index, (grade, ranges) in enumerate(models)
    }
    return tuple(found[grade] for grade in sorted(found))


def _least(ranges: Ranges, path: str) -> tuple[tuple[str, int], ...]:
    """What each node of a grade has at least; pods are not modelled."""
    found = {
        resource: amount(least, f"{path}.ranges[{index}].min").in_its_unit(resource)
        for index, (resource, least) in enumerate(ranges)
        if resource != PODS
    }
    return tuple(sorted(found.items()))


def nodes_by_grade(summary: Wire, models: tuple[Grade, ...]) -> tuple[int, ...]:
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
