"""The columns of flowcontrol.apiserver.k8s.io/v1, and of component statuses."""

from typing import Any

from atoll.apiserver.kinds.columns.cells import AGE, NAME, NONE
from atoll.apiserver.kinds.reading import Object, at, number, parts, text
from atoll.apiserver.resource import Column


def _dangling(schema: Object) -> str:
    for condition in parts(schema, "status", "conditions"):
        if condition.get("type") == "Dangling":
            return text(condition, "status")
    return "?"


def _limit(name: str, *path: str) -> Column:
    """A number that only levels with limits have."""

    def cell(level: Object) -> Any:
        found = at(level, "spec", "limited", *path)
        return NONE if found is None else found

    return Column(name, cell)


_QUEUING = ("limitResponse", "queuing")

FLOW_SCHEMA = (
    NAME,
    Column("PriorityLevel", lambda obj: text(obj, "spec", "priorityLevelConfiguration", "name")),
    Column("MatchingPrecedence", lambda obj: number(obj, "spec", "matchingPrecedence")),
    Column(
        "DistinguisherMethod",
        lambda obj: text(obj, "spec", "distinguisherMethod", "type") or NONE,
    ),
    AGE,
    Column("MissingPL", _dangling),
)
PRIORITY_LEVEL_CONFIGURATION = (
    NAME,
    Column("Type", lambda obj: text(obj, "spec", "type")),
    _limit("NominalConcurrencyShares", "nominalConcurrencyShares"),
    _limit("Queues", *_QUEUING, "queues"),
    _limit("HandSize", *_QUEUING, "handSize"),
    _limit("QueueLengthLimit", *_QUEUING, "queueLengthLimit"),
    AGE,
)


def _healthy(component: Object) -> Object:
    for condition in parts(component, "conditions"):
        if condition.get("type") == "Healthy":
            return condition
    return {}


def _health(component: Object) -> str:
    condition = _healthy(component)
    if not condition:
        return "Unknown"
    return "Healthy" if condition.get("status") == "True" else "Unhealthy"


COMPONENT_STATUS = (
    NAME,
    Column("Status", _health),
    Column("Message", lambda obj: text(_healthy(obj), "message")),
    Column("Error", lambda obj: text(_healthy(obj), "error")),
)
