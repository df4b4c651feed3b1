"""The columns of roles, bindings and leases."""

from typing import Any

from atoll.apiserver.kinds.columns.cells import AGE, CREATED_AT, NAME, wide
from atoll.apiserver.kinds.reading import Object, part, parts, text
from atoll.apiserver.resource import Column


def _role(binding: Object) -> str:
    role = part(binding, "roleRef")
    return f"{text(role, 'kind')}/{text(role, 'name')}"


def _subjects(name: str, kind: str) -> Column:
    def shown(subject: Object) -> str:
        who = text(subject, "name")
        return f"{text(subject, 'namespace')}/{who}" if kind == "ServiceAccount" else who

    def cell(binding: Object) -> Any:
        found = (s for s in parts(binding, "subjects") if s.get("kind") == kind)
        return ", ".join(map(shown, found))

    return wide(name, cell)


ROLE = (NAME, CREATED_AT)
BINDING = (
    NAME,
    Column("Role", _role),
    AGE,
    _subjects("Users", "User"),
    _subjects("Groups", "Group"),
    _subjects("ServiceAccounts", "ServiceAccount"),
)
LEASE = (NAME, Column("Holder", lambda obj: text(obj, "spec", "holderIdentity")), AGE)
