"""What expressions about a write may refer to, and how they are compiled.

    object, oldObject, request, namespaceObject, authorizer, params, variables.x

In: the text of an expression. Out: a Program, or NotAnExpression. What the names stand for in one
write is the business of whoever evaluates (`evaluated`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.apiserver.cel.checking import Declarations
from atoll.apiserver.cel.compiling import Program, compile_expression, functions
from atoll.apiserver.cel.declaring import read_type
from atoll.apiserver.cel.kinds import BOOL, DYN, STRING, Field, Type, list_of, map_of


def _object(called: str, /, **fields: Type) -> Type:
    return Type(called, fields={key: Field(kind, key) for key, kind in fields.items()})


_KIND = _object("kubernetes.GroupVersionKind", group=STRING, version=STRING, kind=STRING)
_RESOURCE = _object(
    "kubernetes.GroupVersionResource", group=STRING, version=STRING, resource=STRING
)
_USER = _object(
    "kubernetes.UserInfo",
    username=STRING,
    uid=STRING,
    groups=list_of(STRING),
    extra=map_of(STRING, list_of(STRING)),
)
_REQUEST = _object(
    "kubernetes.AdmissionRequest",
    kind=_KIND,
    resource=_RESOURCE,
    subResource=STRING,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=STRING,
    name=STRING,
    namespace=STRING,
    operation=STRING,
    userInfo=_USER,
    dryRun=BOOL,
    options=DYN,
)
_NAMESPACE = _object("kubernetes.Namespace", metadata=DYN, spec=DYN, status=DYN)
_ALWAYS = {
    "object": DYN,
    "oldObject": DYN,
    "request": _REQUEST,
    "authorizer": read_type("Authorizer"),
    "authorizer.requestResource": read_type("ResourceCheck"),
}
_JSON_PATCH = Type(
    "JSONPatch",
    fields={
        "op": Field(STRING, "op"),
        "path": Field(STRING, "path"),
        "from": Field(STRING, "from"),
        "value": Field(DYN, "value"),
    },
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What the expressions of one policy or webhook may speak of, beside the write itself."""

    has_namespace: bool = True
    has_params: bool = False
    variables: Mapping[str, Type] = field(default_factory=dict)
    makes_objects: bool = False

    def with_variable(self, name: str, kind: Type) -> "Scope":
        known = {**self.variables, name: kind}
        return Scope(self.has_namespace, self.has_params, known, self.makes_objects)

    def compiled(self, text: str) -> Program:
        """The program of an expression; NotAnExpression or NotRunnable say what is wrong."""
        names = dict(_ALWAYS)
        if self.has_namespace:
            names["namespaceObject"] = _NAMESPACE
            fields = {key: Field(kind, key) for key, kind in self.variables.items()}
            names["variables"] = Type("kubernetes.variables", fields=fields)
        if self.has_params:
            names["params"] = DYN
        makeable = {"JSONPatch": _JSON_PATCH} if self.makes_objects else {}
        return compile_expression(
            text, Declarations(names, functions(), makeable, makes_objects=self.makes_objects)
        )
