"""What a path points at: a resource, one object, a subresource, or a document about the server.

Segments are decoded one by one, after splitting, so that an encoded slash in a name cannot move the
border between segments. Dots mean nothing here: no object has such a name, and nothing is above the
root. A path that can mean nothing gives None.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class ResourceRoute:
    """A path below a group version: which resource, and how far down the path goes."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: tuple[str, ...] = ()  # what follows the subresource
    watched: bool = False  # by a path of the old form, /api/v1/watch/...


@dataclass(frozen=True, slots=True)
class DocumentRoute:
    """Anything else: discovery, OpenAPI, health. `parts` has no empty segments."""

    parts: tuple[str, ...]


Route = ResourceRoute | DocumentRoute

# Parts of a namespace itself, not resources inside it.
_NAMESPACE_SUBRESOURCES = frozenset(["status", "finalize"])


# What clients choose must not make the cache big.
_REMEMBERED_MAX = 256


def route(path: str) -> Route | None:
    """Say what this path points at; None for a path that cannot be served at all."""
    return _remembered(path) if len(path) <= _REMEMBERED_MAX else _route(path)


def _route(path: str) -> Route | None:
    if not path.startswith("/"):
        return None
    segments = path[1:].split("/")
    if segments[-1] == "":  # clients write /apis/ and /version/
        segments.pop()
    try:
        parts = tuple(segments if "%" not in path else map(_decoded, segments))
    except UnicodeDecodeError:
        return None
    if "" in parts:
        return None
    match parts:
        case ("api", version, "watch", first, *rest):
            return replace(_resource("", version, (first, *rest)), watched=True)
        case ("apis", group, version, "watch", first, *rest):
            return replace(_resource(group, version, (first, *rest)), watched=True)
        case ("api", version, first, *rest):
            return _resource("", version, (first, *rest))
        case ("apis", group, version, first, *rest):
            return _resource(group, version, (first, *rest))
    return DocumentRoute(parts)


_remembered = lru_cache(maxsize=2048)(_route)


def beyond_subresource(path: str, target: ResourceRoute) -> str:
    """What follows the subresource in a path that points at it, still encoded."""
    above = 5 + bool(target.group) + 2 * bool(target.namespace)
    return "/".join(path[1:].split("/")[above:])


def _decoded(segment: str) -> str:
    return unquote(segment, errors="strict")


def _resource(group: str, version: str, parts: tuple[str, ...]) -> ResourceRoute:
    if parts[0] != "namespaces" or len(parts) < 3 or _is_namespace_part(group, parts):
        return _below(group, version, "", parts)
    return _below(group, version, parts[1], parts[2:])


def _is_namespace_part(group: str, parts: tuple[str, ...]) -> bool:
    return not group and len(parts) == 3 and parts[2] in _NAMESPACE_SUBRESOURCES


def _below(group: str, version: str, namespace: str, parts: tuple[str, ...]) -> ResourceRoute:
    plural, name, subresource = (*parts, "", "")[:3]
    return ResourceRoute(group, version, plural, namespace, name, subresource, parts[3:])
