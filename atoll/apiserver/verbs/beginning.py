"""How a new object begins: from what a client proposes to what is stored, where nobody objects.

In: the proposal, and what only the server says of it. Out: the object with defaults and owners of
its fields (`begun`), and with what the server sets at birth, or the faults it has (`finished`).
Between the two come those who may change it; they are not known here, nor is the store. Pure.
"""

from dataclasses import dataclass

from atoll.apiserver.applying.updates import Writer, after_update
from atoll.apiserver.objects.metadata import errors_of_new, metadata, stamped
from atoll.apiserver.options import WriteOptions
from atoll.apiserver.resource import Resource, unconverted
from atoll.apiserver.status import bad_request, invalid
from atoll.apiserver.verbs.sides import untracked
from atoll.exchange import Request
from atoll.wire import Wire

_AGENT_MAX = 128


@dataclass(slots=True)
class Birth:
    """What only the server says of a new object."""

    resource: Resource
    namespace: str
    uid: str
    now: str

    def fit(self, proposed: Wire) -> Wire:
        """What is proposed, with all this, and defaults."""
        obj = stamped(proposed, self.resource, namespace=self.namespace, uid=self.uid, now=self.now)
        if self.resource.strategy.has_status:
            obj.pop("status", None)
        self.resource.strategy.default(obj)
        return obj

    def begun(self, proposed: Wire, writer: Writer) -> Wire:
        """The same, with whom its fields belong to. Nobody owns what the server sets later."""
        ignored = untracked(self.resource, "")
        schema, obj = self.resource.schema, self.fit(proposed)
        return after_update(schema, None, obj, writer, self.now, ignored=ignored)


def finished(resource: Resource, obj: Wire) -> None:
    """Set in place what the server sets at birth; ApiError if the object may not be stored."""
    resource.strategy.prepare_create(obj)
    errors = [*errors_of_new(obj, resource), *resource.strategy.errors(obj)]
    if errors:
        raise invalid(resource.kind, resource.group, metadata(obj).get("name", ""), errors)


def manager(request: Request, options: WriteOptions) -> str:
    """Who fields are attributed to: the manager named, else the program that asks."""
    if options.field_manager:
        return options.field_manager
    agent = request.headers.get("user-agent", "").partition("/")[0][:_AGENT_MAX]
    return agent or "unknown"


def check_namespace(resource: Resource, namespace: str, proposed: Wire) -> None:
    """ApiError 400 unless the object's namespace is the one in the path."""
    said = metadata(proposed).get("namespace")
    if resource.namespaced and said and said != namespace:
        why = (
            "the namespace of the provided object does not match the namespace sent on the request"
        )
        raise bad_request(why)


def may_be_drafted(resource: Resource) -> bool:
    """Whether new objects of this kind are made alike by whoever makes them, and kept as served."""
    as_is = resource.serves_as_stored and resource.to_stored is unconverted
    return as_is and resource.stored and not resource.custom
