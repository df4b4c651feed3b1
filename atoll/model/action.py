"""What a plan wants done, as data. One generic `perform` carries it out.

An object is a plain dictionary as on the wire. `at` names the cluster it is done in; empty is the
plane itself. A write carries what it was decided on (a resourceVersion, a uid), so that one decided
on an old state is refused rather than obeyed.
"""

from dataclasses import dataclass
from typing import NamedTuple

from atoll.wire import Object

PLANE = ""


class Ref(NamedTuple):
    """An object by kind and name. Very many are made and compared, hence a tuple."""

    api_version: str
    kind: str
    namespace: str = ""
    name: str = ""

    @classmethod
    def of(cls, wire: Object) -> "Ref":
        metadata = wire.get("metadata") or {}
        return cls(
            wire.get("apiVersion", ""),
            wire.get("kind", ""),
            metadata.get("namespace", ""),
            metadata.get("name", ""),
        )

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"


@dataclass(frozen=True, slots=True)
class Create:
    """Make an object that is not there; that it is there by now means to look again."""

    object: Object
    at: str = PLANE


@dataclass(frozen=True, slots=True)
class Update:
    """Replace an object, or one subresource of it, if its resourceVersion is still this one."""

    object: Object
    subresource: str = ""
    at: str = PLANE


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove an object if it is still as it was seen; that it is gone is as good."""

    ref: Ref
    uid: str
    version: str
    at: str = PLANE

    @classmethod
    def of(cls, wire: Object, at: str = PLANE) -> "Delete":
        metadata = wire["metadata"]
        version = metadata.get("resourceVersion", "")
        return cls(Ref.of(wire), metadata.get("uid", ""), version, at)


@dataclass(frozen=True, slots=True)
class Tell:
    """An event on an object of the plane, for people to read; equal ones are told once."""

    about: Object
    reason: str
    message: str
    warning: bool = False


Action = Create | Update | Delete | Tell


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions in the order they are to be done. Any beginning of them may be done, and then anew.

    `again_in`: seconds after which to look again although nothing changed.
    """

    actions: tuple[Action, ...] = ()
    again_in: float | None = None


NOTHING = Plan()
