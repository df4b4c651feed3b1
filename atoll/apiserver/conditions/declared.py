"""What expressions about a write may refer to, and how they are compiled.

    object, oldObject, request, namespaceObject, authorizer, params, variables.x

In: the text of an expression. Out: a Program, or NotAnExpression. What the names stand for in one
write is the business of whoever evaluates (`evaluated`).
"""

from dataclasses import dataclass, replace

from atoll.apiserver.cel.checking import Declarations
from atoll.apiserver.cel.compiling import Program, compile_expression, functions
from atoll.apiserver.cel.declaring import read_type
from atoll.apiserver.cel.kinds import (
    BOOL,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Field,
    Type,
    list_of,
    map_of,
)


def _object(called: str, /, **fields: Type) -> Type:
    return Type(called, fields={key: Field(kind, key) for key, kind in fields.items()})


def _texts(*names: str) -> dict[str, Type]:
    return dict.fromkeys(names, STRING)


_KIND = _object("kubernetes.GroupVersionKind", **_texts("group", "version", "kind"))
_RESOURCE = _object("kubernetes.GroupVersionResource", **_texts("group", "version", "resource"))
_USER = _object(
    "kubernetes.UserInfo",
    **_texts("username", "uid"),
    groups=list_of(STRING),
    extra=map_of(STRING, list_of(STRING)),
)
_REQUEST = _object(
    "kubernetes.AdmissionRequest",
    **_texts("name", "namespace", "operation", "subResource", "requestSubResource"),
    kind=_KIND,
    resource=_RESOURCE,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    userInfo=_USER,
    dryRun=BOOL,
    options=DYN,
)
_NAMESPACE = _object(
    "kubernetes.Namespace",
    metadata=_object(
        "kubernetes.NamespaceMetadata",
        **_texts("name", "generateName", "namespace", "UID", "resourceVersion"),
        labels=map_of(STRING, STRING),
        annotations=map_of(STRING, STRING),
        creationTimestamp=TIMESTAMP,
        deletionGracePeriodSeconds=INT,
        deletionTimestamp=TIMESTAMP,
        generation=INT,
        finalizers=list_of(STRING),
    ),
    spec=_object("kubernetes.NamespaceSpec", finalizers=list_of(STRING)),
    status=_object(
        "kubernetes.NamespaceStatus",
        phase=STRING,
        conditions=list_of(
            _object(
                "kubernetes.NamespaceCondition",
                **_texts("status", "type", "message", "reason"),
                lastTransitionTime=TIMESTAMP,
            )
        ),
    ),
)
_ALWAYS = {
    "object": DYN,
    "oldObject": DYN,
    "request": _REQUEST,
    "namespaceObject": _NAMESPACE,
    "authorizer": read_type("Authorizer"),
    "authorizer.requestResource": read_type("ResourceCheck"),
}
JSON_PATCH = _object("JSONPatch", value=DYN, **_texts("op", "path", "from"))


@dataclass(frozen=True, slots=True)
class Scope:
    """What the expressions of one policy or webhook may speak of, beside the write itself.

    Variables are added while a policy is read: each may speak of those before it.
    """

    has_params: bool = False
    makes_objects: bool = False
    variables: dict[str, Field] | None = None

    def with_variables(self) -> "Scope":
        return replace(self, variables={})

    def add_variable(self, name: str, kind: Type) -> None:
        assert self.variables is not None, "there are variables in policies alone"
        self.variables[name] = Field(kind, name)

    def compiled(self, text: str) -> Program:
        """The program of an expression; NotAnExpression or NotRunnable say what is wrong."""
        names = dict(_ALWAYS)
        if self.variables is not None:
            names["variables"] = Type("kubernetes.variables", fields=self.variables)
        if self.has_params:
            names["params"] = DYN
        makeable = {"JSONPatch": JSON_PATCH} if self.makes_objects else {}
        return compile_expression(
            text, Declarations(names, functions(), makeable, makes_objects=self.makes_objects)
        )
