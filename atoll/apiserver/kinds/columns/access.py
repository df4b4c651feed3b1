"""The columns of roles, bindings, leases and requests for certificates."""

from typing import Any

from atoll.apiserver.kinds.columns.ages import human
from atoll.apiserver.kinds.columns.cells import AGE, CREATED_AT, NAME, NONE, wide
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


def _condition(csr: Object) -> str:
    kinds = [text(one, "type") for one in parts(csr, "status", "conditions")]
    decided = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    failed = ["Failed"] if "Failed" in kinds else []
    issued = ["Issued"] if text(csr, "status", "certificate") else []
    return ",".join([decided, *failed, *issued])


def _requested_duration(csr: Object) -> str:
    seconds = part(csr, "spec").get("expirationSeconds")
    return human(seconds) if isinstance(seconds, int) else NONE


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
CERTIFICATE_SIGNING_REQUEST = (
    NAME,
    AGE,
    Column("SignerName", lambda obj: text(obj, "spec", "signerName") or NONE),
    Column("Requestor", lambda obj: text(obj, "spec", "username")),
    Column("RequestedDuration", _requested_duration),
    Column("Condition", _condition),
)
