"""The columns of roles, bindings, leases, requests for certificates, webhooks and policies."""

from typing import Any

from atoll.apiserver.kinds.columns.cells import AGE, CREATED_AT, NAME, NONE, human, wide
from atoll.apiserver.kinds.labels import printed
from atoll.apiserver.kinds.reading import Object, given, part, parts, text
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


_UNSET = "<unset>"


def _counted(name: str, *path: str) -> Column:
    return Column(name, lambda obj: len(parts(obj, *path)), type="integer")


def _param_kind(policy: Object) -> str:
    kind = given(policy, "spec", "paramKind")
    return _UNSET if kind is None else f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}"


def _param(binding: Object) -> str:
    reference = given(binding, "spec", "paramRef") or {}
    if name := text(reference, "name"):
        return f"{text(reference, 'namespace') or '*'}/{name}"
    selector = given(reference, "selector")
    return _UNSET if selector is None else printed(selector)


_PARAM_KIND = Column("ParamKind", _param_kind)

WEBHOOKS = (NAME, _counted("Webhooks", "webhooks"), AGE)
VALIDATING_POLICY = (NAME, _counted("Validations", "spec", "validations"), _PARAM_KIND, AGE)
MUTATING_POLICY = (NAME, _counted("Mutations", "spec", "mutations"), _PARAM_KIND, AGE)
POLICY_BINDING = (
    NAME,
    Column("PolicyName", lambda obj: text(obj, "spec", "policyName")),
    Column("ParamRef", _param),
    AGE,
)
