"""Asking, in an expression, whether somebody may do something: `authorizer.group(…).resource(…)`.

Who decides is given with the Authorizer; here are only the questions, and the answers as values.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from atoll.apiserver.cel.declaring import Table
from atoll.apiserver.cel.faults import Failed
from atoll.apiserver.cel.values import Frame, named

_COST = 350_000 // 100  # a decision is dear, though not as dear as asking another server


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody may want to do. `account` is a service account's namespace and name."""

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    account: tuple[str, str] | None = None


@named("kubernetes.authorization.Decision")
@dataclass(frozen=True, slots=True)
class Decision:
    """Whether it is allowed, and why."""

    allowed: bool
    reason: str


Decide = Callable[[Question], Decision]


@named("kubernetes.authorization.Authorizer")
@dataclass(frozen=True, slots=True, eq=False)
class Authorizer:
    """Who answers such questions, and what is known of the one that is being asked."""

    decide: Decide
    asked: Question = Question()


@named("kubernetes.authorization.PathCheck")
class PathCheck(Authorizer):
    """A question about a path."""


@named("kubernetes.authorization.GroupCheck")
class GroupCheck(Authorizer):
    """A question about a group."""


@named("kubernetes.authorization.ResourceCheck")
class ResourceCheck(Authorizer):
    """A question about a resource."""


def _path(_: Frame, by: Authorizer, path: str) -> PathCheck:
    if not path:
        raise Failed("path must not be empty")
    return PathCheck(by.decide, replace(by.asked, path=path))


def _group(_: Frame, by: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(by.decide, replace(by.asked, group=group))


def _account(_: Frame, by: Authorizer, namespace: str, name: str) -> Authorizer:
    if not name:
        raise Failed("Invalid service account name")
    if not namespace:
        raise Failed("Invalid service account namespace")
    return Authorizer(by.decide, replace(by.asked, account=(namespace, name)))


def _resource(_: Frame, by: GroupCheck, resource: str) -> ResourceCheck:
    if not resource:
        raise Failed("resource must not be empty")
    return ResourceCheck(by.decide, replace(by.asked, resource=resource))


def _narrowed(field: str) -> Callable[[Frame, ResourceCheck, str], ResourceCheck]:
    def narrow(_: Frame, by: ResourceCheck, value: str) -> ResourceCheck:
        return ResourceCheck(by.decide, replace(by.asked, **{field: value}))  # type: ignore[arg-type]

    return narrow


def _check(frame: Frame, by: PathCheck | ResourceCheck, verb: str) -> Decision:
    frame.pay(_COST)
    return by.decide(replace(by.asked, verb=verb))


TABLE: Table = {
    "Authorizer.path(string) -> PathCheck": _path,
    "Authorizer.group(string) -> GroupCheck": _group,
    "Authorizer.serviceAccount(string, string) -> Authorizer": _account,
    "GroupCheck.resource(string) -> ResourceCheck": _resource,
    "ResourceCheck.subresource(string) -> ResourceCheck": _narrowed("subresource"),
    "ResourceCheck.namespace(string) -> ResourceCheck": _narrowed("namespace"),
    "ResourceCheck.name(string) -> ResourceCheck": _narrowed("name"),
    "PathCheck.check(string) -> Decision": _check,
    "ResourceCheck.check(string) -> Decision": _check,
    "Decision.allowed() -> bool": lambda _, decision: decision.allowed,
    "Decision.reason() -> string": lambda _, decision: decision.reason,
    "Decision.errored() -> bool": lambda _, _decision: False,
    "Decision.error() -> string": lambda _, _decision: "",
}
