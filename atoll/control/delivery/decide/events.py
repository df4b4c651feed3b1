"""What delivery is told, and what it answers with.

Events say what has changed, what was seen and what became of writes; instructions say what is to be
done about it. Both are data: how either travels is for whoever drives delivery.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from atoll.control.delivery.decide.applying import Retain
from atoll.control.delivery.decide.reflecting import Questions
from atoll.control.levels import Level
from atoll.model.action import Action, Create, Delete, Ref, Update
from atoll.model.member import Member
from atoll.model.work import Work
from atoll.wire import Object

Key = tuple[str, str]
"""The namespace and the name of a Work."""
Write = Create | Update | Delete


@dataclass(frozen=True, slots=True)
class WorkChanged:
    """A Work came, changed or went. One without a `before` is new, or told again.

    `is_meant`: whether more than its status has changed.
    """

    before: Work | None
    after: Work | None
    is_meant: bool = True


@dataclass(frozen=True, slots=True)
class ClusterChanged:
    """A Cluster came, changed or went."""

    name: str
    after: Member | None


@dataclass(frozen=True, slots=True)
class MemberTurned:
    """There is a way to a member now, or none any more, or it serves other kinds."""

    cluster: str


@dataclass(frozen=True, slots=True)
class MemberAnswers:
    """A member that was silent answers again."""

    cluster: str


@dataclass(frozen=True, slots=True)
class MemberObjectChanged:
    """An object in a member came, changed or went."""

    cluster: str
    before: Object | None
    after: Object | None


@dataclass(frozen=True, slots=True)
class MirrorReady:
    """All objects of a kind in a member are known."""

    cluster: str
    api_version: str
    kind: str


@dataclass(frozen=True, slots=True)
class MemberView:
    """What is known of a member, and of those of its objects that a Work asks for.

    `found`: those that are there. `unserved`: of kinds the member does not have. `unknown`: of
    kinds that are not followed, or not for long enough to know what is there.
    """

    is_silent: bool = False
    found: Mapping[Ref, Object] = field(default_factory=dict)
    unserved: frozenset[Ref] = frozenset()
    unknown: frozenset[Ref] = frozenset()


@dataclass(frozen=True, slots=True)
class Means:
    """How objects are understood, and who besides a Work is told of what is wrong with them."""

    retain: Retain
    questions: Questions
    owners: Callable[[Work], Sequence[Object]]


@dataclass(frozen=True, slots=True)
class Looked:
    """It is a Work's turn; its member is as seen just now, None if there is no way to it.

    `backlog`: how many others wait for turns.
    """

    key: Key
    member: MemberView | None
    means: Means
    backlog: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """A write was carried out; what was stored, if something was."""

    write: Write
    stored: Object | None


@dataclass(frozen=True, slots=True)
class Refused:
    """An API server refused a write, in its words."""

    write: Write
    message: str


Event = (
    WorkChanged
    | ClusterChanged
    | MemberTurned
    | MemberAnswers
    | MemberObjectChanged
    | MirrorReady
    | Looked
    | Stored
    | Refused
)


@dataclass(frozen=True, slots=True)
class Wake:
    """Give a Work a turn."""

    key: Key
    level: Level = Level.ARRIVE


@dataclass(frozen=True, slots=True)
class WakeToEnd:
    """Give a Work that may end a turn; how much that presses, those know who wait for it."""

    key: Key


@dataclass(frozen=True, slots=True)
class Follow:
    """Follow the objects of a kind in a member, and say when they are known."""

    cluster: str
    api_version: str
    kind: str


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Give a Work a turn after so many seconds, although nothing changed."""

    key: Key
    after_s: float


@dataclass(frozen=True, slots=True)
class Retire:
    """A cluster is gone, and no Work is left of it: nobody needs to work for it any more."""

    cluster: str


Instruction = Action | Wake | WakeToEnd | Follow | LookAgain | Retire
