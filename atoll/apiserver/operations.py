"""The `paths` of an OpenAPI v3 document: which operations a resource has, and their parameters.

kubectl reads from here whether the server validates fields (a PATCH that takes `fieldValidation`).
Schemas are referred to by name; `openapi` provides them.
"""

from collections.abc import Iterator

from atoll.apiserver.catalog import Subresource, subresources
from atoll.apiserver.resource import Resource
from atoll.wire import Wire

REF = "#/components/schemas/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
SCALE = "io.k8s.api.autoscaling.v1.Scale"
# What is spoken at a subresource, where it is not the resource's own kind.
SPOKEN = {"Scale": SCALE, "TokenRequest": "io.k8s.api.authentication.v1.TokenRequest"}

_MEDIA_TYPES = ("application/json", "application/yaml")
_PATCH_TYPES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_STRATEGIC = "application/strategic-merge-patch+json"
_BOOLEANS = frozenset(
    ["allowWatchBookmarks", "force", "orphanDependents", "sendInitialEvents", "watch"]
)
_INTEGERS = frozenset(["gracePeriodSeconds", "limit", "timeoutSeconds"])
_LIST = (
    *("allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit"),
    *("resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch"),
)
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_SAYS = {"200": "OK", "201": "Created", "202": "Accepted"}


def paths_of(resource: Resource, definition: str) -> Iterator[tuple[str, Wire]]:
    """Every path of a resource with what can be done there; `definition` names its schema."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else "/api/v1"
    inside = f"{root}/namespaces/{{namespace}}" if resource.namespaced else root
    within = ("namespace",) if resource.namespaced else ()
    many = f"{inside}/{resource.plural}"
    yield many, _collection(resource, definition, within)
    if not resource.stored:
        return
    yield f"{many}/{{name}}", _object(resource, definition, ("name", *within))
    for sub in subresources(resource):
        operations = _subresource(resource, definition, sub)
        yield f"{many}/{{name}}/{sub.name}", operations | _placed("name", *within)
    if resource.namespaced:
        yield f"{root}/{resource.plural}", _everywhere(resource, definition)


def _parameter(name: str, place: str = "query") -> Wire:
    kind = "boolean" if name in _BOOLEANS else "integer" if name in _INTEGERS else "string"
    parameter: Wire = {"name": name, "in": place}
    if place == "path":
        parameter["required"] = True
    return parameter | {"schema": {"type": kind, "uniqueItems": True}}


def _placed(*names: str) -> Wire:
    """The parameters that all operations at a path have."""
    in_path = [_parameter(name, "path") for name in names]
    return {"parameters": [*in_path, _parameter("pretty")]}


def _content(definition: str, types: tuple[str, ...] = _MEDIA_TYPES) -> Wire:
    return {"content": {media: {"schema": {"$ref": REF + definition}} for media in types}}


def _answers(definition: str, *codes: str) -> Wire:
    given = {code: {"description": _SAYS[code], **_content(definition)} for code in codes}
    return given | {"401": {"description": "Unauthorized"}}


def _operation(
    resource: Resource, action: str, name: str, parameters: tuple[str, ...], answers: Wire
) -> Wire:
    return {
        "tags": [f"{_camel(resource.group)}_{resource.version}"],
        "operationId": name,
        "parameters": [_parameter(parameter) for parameter in parameters],
        "responses": answers,
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {
            "group": resource.group,
            "version": resource.version,
            "kind": resource.kind,
        },
    }


def _camel(group: str) -> str:
    """A group's name as one word: rbac.authorization.k8s.io is rbacAuthorization."""
    first, *rest = (group.removesuffix(".k8s.io") or "core").split(".")
    return first + "".join(map(_capital, rest))


def _named(resource: Resource, verb: str, suffix: str = "") -> str:
    """The name of an operation: readAppsV1NamespacedDeployment."""
    scope = "Namespaced" if resource.namespaced else ""
    verb, _, where = verb.partition("/")
    return f"{verb}{_placed_in(resource)}{where}{scope}{resource.kind}{suffix}"


def _placed_in(resource: Resource) -> str:
    """The group and the version of a resource, as in the names of its operations: AppsV1."""
    return _capital(_camel(resource.group)) + _capital(resource.version)


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def _collection(resource: Resource, definition: str, within: tuple[str, ...]) -> Wire:
    found = {}
    if resource.stored:
        listed = _answers(f"{definition}List", "200")
        found["get"] = _operation(resource, "list", _named(resource, "list"), _LIST, listed)
    made = _answers(definition, "200", "201", "202")
    created = _operation(resource, "post", _named(resource, "create"), _WRITE, made)
    found["post"] = created | {"requestBody": {**_content(definition), "required": True}}
    if "deletecollection" in resource.verbs:
        name = _named(resource, "delete/Collection")
        gone = _answers(META + "Status", "200")
        swept = _operation(resource, "deletecollection", name, _LIST, gone)
        found["delete"] = swept | {"requestBody": _content(META + "DeleteOptions")}
    return found | _placed(*within)


def _object(resource: Resource, definition: str, within: tuple[str, ...]) -> Wire:
    found = _getting(resource, definition)
    deleted = definition if resource.strategy.returns_deleted else META + "Status"
    name, gone = _named(resource, "delete"), _answers(deleted, "200", "202")
    body = {"requestBody": _content(META + "DeleteOptions")}
    found["delete"] = _operation(resource, "delete", name, _DELETE, gone) | body
    return found | _placed(*within)


def _getting(resource: Resource, definition: str, suffix: str = "") -> Wire:
    """Reading, replacing and patching, which objects and their subresources have in common."""
    read, shown = _named(resource, "read", suffix), _answers(definition, "200")
    replace, replaced = _named(resource, "replace", suffix), _answers(definition, "200", "201")
    patch = _named(resource, "patch", suffix)
    patches = _PATCH_TYPES if resource.custom else (*_PATCH_TYPES, _STRATEGIC)
    put = _operation(resource, "put", replace, _WRITE, replaced)
    patched = _operation(resource, "patch", patch, (*_WRITE, "force"), replaced)
    changes = _content(META + "Patch", patches)
    return {
        "get": _operation(resource, "get", read, ("resourceVersion",), shown),
        "put": put | {"requestBody": {**_content(definition), "required": True}},
        "patch": patched | {"requestBody": {**changes, "required": True}},
    }


def _subresource(resource: Resource, definition: str, sub: Subresource) -> Wire:
    spoken = SPOKEN.get(sub.kind, definition)
    suffix = _capital(sub.name)
    every = _getting(resource, spoken, suffix)
    verbs = {"get": "get", "put": "update", "patch": "patch"}
    found = {method: every[method] for method, verb in verbs.items() if verb in sub.verbs}
    if sub.kind == "TokenRequest":
        made, name = _answers(spoken, "200", "201", "202"), _named(resource, "create", suffix)
        asked = _operation(resource, "post", name, _WRITE, made)
        found["post"] = asked | {"requestBody": {**_content(spoken), "required": True}}
    if spoken != definition and not resource.custom:
        spoken_kind = {"group": sub.group, "version": sub.version, "kind": sub.kind}
        marked = {"x-kubernetes-group-version-kind": spoken_kind}
        found = {method: operation | marked for method, operation in found.items()}
    return found


def _everywhere(resource: Resource, definition: str) -> Wire:
    name = f"list{_placed_in(resource)}{resource.kind}ForAllNamespaces"
    listed = _answers(f"{definition}List", "200")
    parameters = [_parameter(parameter) for parameter in sorted((*_LIST, "pretty"))]
    return {"get": _operation(resource, "list", name, (), listed), "parameters": parameters}
