"""In which form the client wants its answer: the Accept header, read as kube-apiserver reads it.

Clauses are tried in order of preference, and the first that can be served wins. Protobuf is never
served; every client that asks for it also takes JSON.
"""

from dataclasses import dataclass
from functools import lru_cache

from atoll.apiserver.status import not_acceptable

MEDIA_TYPES = ("application/json", "application/yaml")
_SHAPES = frozenset(["Table", "PartialObjectMetadata", "PartialObjectMetadataList"])
_TABLE_VERSIONS = frozenset(["v1", "v1beta1"])


@dataclass(frozen=True, slots=True)
class Representation:
    """The chosen form: JSON or YAML, and what the object is turned into first, if anything."""

    media_type: str = "application/json"
    shape: str = ""  # Table, PartialObjectMetadata, PartialObjectMetadataList
    version: str = "v1"  # of the shape, in meta.k8s.io
    pretty: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """One alternative of an Accept header."""

    media_type: str
    parameters: dict[str, str]
    weight: float


@lru_cache(maxsize=512)
def clauses(accept: str) -> tuple[Clause, ...]:
    """The alternatives of an Accept header, best first; none given means anything."""
    found = [_clause(text) for text in accept.split(",") if text.strip()]
    found.sort(key=lambda clause: -clause.weight)
    return tuple(found) or (Clause("*/*", {}, 1.0),)


def _clause(text: str) -> Clause:
    media_type, *rest = (part.strip() for part in text.split(";"))
    parameters = dict(part.partition("=")[::2] for part in rest if part)
    try:
        weight = float(parameters.pop("q", "1"))
    except ValueError:
        weight = 0.0
    return Clause(media_type.lower(), parameters, weight)


@lru_cache(maxsize=512)
def negotiate(accept: str) -> Representation:
    """Choose the first form that can be served."""
    for clause in clauses(accept):
        media_type = _served(clause.media_type)
        shape = clause.parameters.get("as", "")
        if media_type is None or not _fits(clause):
            continue
        pretty = clause.parameters.get("pretty") in ("1", "true")
        version = clause.parameters.get("v", "v1")
        return Representation(media_type, shape, version, pretty)
    # Perhaps the form itself could be served, and only what it is turned into could not.
    understood = any(_served(clause.media_type) for clause in clauses(accept))
    raise not_acceptable(MEDIA_TYPES, understood=understood)


def _served(media_type: str) -> str | None:
    if media_type == "*/*":
        return "application/json"
    return media_type if media_type in MEDIA_TYPES else None


def _fits(clause: Clause) -> bool:
    shape = clause.parameters.get("as")
    if shape is None:
        return True
    group, version = clause.parameters.get("g"), clause.parameters.get("v")
    return shape in _SHAPES and group == "meta.k8s.io" and version in _TABLE_VERSIONS


def prefers_yaml(accept: str) -> bool:
    """Whether the first form that can be served is YAML."""
    served = (_served(clause.media_type) for clause in clauses(accept))
    return next((form for form in served if form), "") == "application/yaml"


def wants_aggregated_discovery(accept: str) -> str | None:
    """The version of aggregated discovery the client prefers over plain lists, if it does."""
    for clause in clauses(accept):
        if _served(clause.media_type) is None:
            continue
        if clause.parameters.get("as") != "APIGroupDiscoveryList":
            if "as" not in clause.parameters:
                return None
            continue
        version = clause.parameters.get("v", "")
        if clause.parameters.get("g") == "apidiscovery.k8s.io" and version in ("v2", "v2beta1"):
            return version
    return None


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header allows for gzip."""
    for coding in accept_encoding.split(","):
        name, _, quality = coding.partition(";")
        if name.strip().lower() == "gzip":
            return quality.replace(" ", "").lower().rstrip("0.") != "q="
    return False
