"""The columns of webhook configurations, admission policies and their bindings."""

from atoll.apiserver.kinds.columns.cells import AGE, NAME
from atoll.apiserver.kinds.labels import printed
from atoll.apiserver.kinds.reading import Object, given, parts, text
from atoll.apiserver.resource import Column

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
BINDING = (
    NAME,
    Column("PolicyName", lambda obj: text(obj, "spec", "policyName")),
    Column("ParamRef", _param),
    AGE,
)
