"""One served resource: a plural in a group and version, and all that the verbs must know of it.

The catalog holds them: built-in ones made from the facts and `kinds`, custom ones from CRDs. All
versions of a resource share one collection in the store, whose objects are in the stored version.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atoll.apiserver.authentication import Identity
from atoll.apiserver.authorization import Attributes
from atoll.apiserver.fields.error import Errors, FieldError
from atoll.apiserver.schemas.schema import Schema
from atoll.dialects.kubernetes.names import subdomain_faults
from atoll.exchange import Request, Response
from atoll.wire import Wire

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
Path = tuple[str, ...]
Changed = Callable[[Wire, Wire, list[str]], list[FieldError]]


def unconverted(stored: Wire) -> Wire:
    return stored


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a kind keeps what the scale subresource shows."""

    spec_replicas: Path
    status_replicas: Path
    selector: Path | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`, computed by `cell`. Priority 1 is for `-o wide`."""

    name: str
    cell: Callable[[Wire], Any]
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Strategy:
    """What differs between kinds in how they are written, deleted and selected."""

    tracks_generation: bool = False
    counts: tuple[str, ...] = ()  # of what else in the metadata a change is a new generation
    has_status: bool = False
    scale: Scale | None = None
    # Other endpoints that change a part of an object: (what is proposed, old) -> what it comes to.
    parts: Mapping[str, Callable[[Wire, Wire], Wire]] = field(default_factory=dict)
    # Rules of their own that such parts have for a change, in place of `update_errors`.
    part_errors: Mapping[str, Callable[[Wire, Wire], Errors]] = field(default_factory=dict)
    # Endpoints that do something with an object, asked for by another: group, version and kind.
    posts: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    unconditional_update: bool = True  # a PUT without resourceVersion overwrites
    creates_on_update: bool = False  # a PUT to a missing object creates it
    returns_deleted: bool = False  # DELETE answers with the object rather than a Status
    orphans_by_default: bool = False  # a DELETE that says nothing leaves dependents alone
    deletes_gracefully: bool = False
    has_dependents: bool = True  # False: never given a garbage-collection finalizer (events)
    held_by: Path = ()  # a second list of finalizers (a namespace has one in its spec)
    name_errors: Callable[[str], Sequence[str]] = subdomain_faults
    selectable: Mapping[str, Path] = field(default_factory=dict)  # beyond metadata.name/namespace
    selectable_else: Mapping[str, Path] = field(default_factory=dict)  # where that has nothing
    default: Callable[[Wire], None] = lambda _: None  # fills in what the user left out, in place
    errors: Callable[[Wire], Errors] = lambda _: ()
    status_errors: Callable[[Wire], Errors] = lambda _: ()  # where nothing else may differ
    update_errors: Callable[[Wire, Wire], Errors] = lambda _new, _old: ()  # (new, old)
    # Asked of an update in place of `errors` and `status_errors`, where an update may leave wrong
    # what it does not touch: (new, old, warnings to add to).
    changed_errors: Changed | None = None
    changed_status_errors: Changed | None = None
    warnings: Callable[[Wire], list[str]] = lambda _: []  # what its writer should be told
    # In place: what a user may not set at birth; of an update, (new, old), new in place.
    prepare_create: Callable[[Wire], None] = lambda _: None
    prepare_update: Callable[[Wire, Wire], None] = lambda _new, _old: None
    # (object, now) -> it, as deletion starts
    begin_delete: Callable[[Wire, str], Wire] = lambda obj, _now: obj


@dataclass(frozen=True, slots=True)
class Reading:
    """A resource that is read by whoever may read another: the same verb, namespace and name there.

    `shown` makes of an object what one reader is shown, given what else that reader may do. Whoever
    writes must be able to list all of the other, for nothing is hidden from a writer.
    """

    group: str
    plural: str
    shown: Callable[[Wire, Callable[[Attributes], bool]], Wire]


@dataclass(frozen=True, slots=True)
class Errand:
    """A request at a branch: of whom, and about which object.

    `beyond` is what follows the branch in the path, as it was written.
    """

    request: Request
    identity: Identity
    namespace: str
    name: str
    beyond: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A subresource that is no part of the stored object: a pod's log, the way to a cluster.

    It answers requests as they come, streams and upgrades included; ApiError refuses.
    """

    name: str
    kind: str  # as discovery names it
    serve: Callable[[Errand], Awaitable[Response]]
    verbs: tuple[str, ...] = ("get",)
    goes_on: bool = False  # any path may follow


@dataclass(frozen=True, slots=True)
class Asked:
    """An object that asks something: who sends it, from which namespace, and when."""

    identity: Identity
    namespace: str
    object: Wire
    now: str


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A resource as served in one version."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    schema: Schema
    strategy: Strategy
    stored_version: str
    list_kind: str
    columns: tuple[Column, ...] = ()
    verbs: tuple[str, ...] = VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    stored_in: str = ""  # the collection, where it is not this group's own (events)
    definition: Wire | None = None  # the CRD it comes from
    conversion: Wire | None = None  # the webhook that converts between its versions, if one does
    deprecation: str = ""  # what everybody who asks for it is warned of
    from_stored: Callable[[Wire], Wire] = unconverted  # the stored version -> this one
    to_stored: Callable[[Wire], Wire] = unconverted
    reading: Reading | None = None
    shared: bool = True  # what one reader is shown may be shown to another
    branches: tuple[Branch, ...] = ()
    answer: Callable[[Asked], Wire] | None = None  # of a kind that is answered, and never stored
    # What follows from the above, found out once: it is asked again and again in every request.
    api_version: str = field(init=False)
    collection: str = field(init=False)
    """The name of its objects' collection in the store: `deployments.apps`, `configmaps`."""
    custom: bool = field(init=False)
    stored: bool = field(init=False)
    """Whether it has objects; what only asks something is answered, and never stored."""
    serves_as_stored: bool = field(init=False)
    """Whether its objects go out as the very bytes that are stored."""

    def __post_init__(self) -> None:
        group, plural = self.group, self.plural
        found = {
            "api_version": f"{group}/{self.version}" if group else self.version,
            "collection": self.stored_in or (f"{plural}.{group}" if group else plural),
            "custom": self.definition is not None,
            "stored": "get" in self.verbs,
            "serves_as_stored": self.from_stored is unconverted,
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)
