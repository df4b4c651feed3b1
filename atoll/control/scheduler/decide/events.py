"""What the scheduler is told, and what it answers with.

Events say what has changed, whose turn it is and what became of writes; instructions say what is to
be done about it. Both are data: how either travels is for whoever drives the scheduler.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from atoll.control.levels import Level
from atoll.control.scheduler.decide.inquiring import Answer, Inquiry
from atoll.control.scheduler.decide.plan import Placing
from atoll.model.action import Action, Ref
from atoll.model.assumed import Assumed
from atoll.model.cluster import Cluster
from atoll.model.price import Price
from atoll.model.resource_binding import ResourceBinding
from atoll.scheduling.nodes.view import NodeView
from atoll.wire import Object


class Why(Enum):
    """Why a binding gets a turn out of the order of the queue."""

    REVIEW = "review"  # others changed it, or its turn was put off: it joins the queue
    CLUSTER_CHANGED = "cluster changed"  # it is placed, and may be placed better
    REPORT = "report"  # its decision is written, and its status may not say so yet


@dataclass(frozen=True, slots=True)
class BindingChanged:
    """A binding came, changed or went. One without a `before` is new, or shown again.

    `spec_changed`: whether more than its status has changed. `cause`: what led to it, where that
    may have led to much; else it is for its namespace. `backlog`: how many others wait for turns.
    """

    before: ResourceBinding | None
    after: ResourceBinding | None
    spec_changed: bool = True
    cause: str = ""
    backlog: int = 0


@dataclass(frozen=True, slots=True)
class ClusterChanged:
    """A Cluster came, changed or went, whatever it costs; `cause` is what that is to others."""

    name: str
    after: Cluster | None
    cause: str = ""


@dataclass(frozen=True, slots=True)
class PricesChanged:
    """These clusters cost something else from now on; None: that is not known."""

    prices: Mapping[str, Price | None]


@dataclass(frozen=True, slots=True)
class TimePassed:
    """A second has passed, or more. `nodes_changed`: nodes came or went, or were closed or opened
    since the last time.
    """

    nodes_changed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """Somebody has time for one binding: the next in the queue, or `key`, for a reason of its own.

    `nodes` are those of this moment; `began` is what a stopwatch shows, to be handed back; `cause`
    led to it; `backlog`: how many others wait for turns.
    """

    nodes: NodeView
    began: float = 0.0
    key: Ref | None = None
    why: Why = Why.REVIEW
    cause: str = ""
    backlog: int = 0


@dataclass(frozen=True, slots=True)
class ScheduleOnWrite:
    """Somebody else is about to write this binding, and could write its targets with it."""

    binding: ResourceBinding
    nodes: NodeView
    began: float = 0.0


@dataclass(frozen=True, slots=True)
class Written:
    """The writes that were asked for a binding are carried out."""

    key: Ref


@dataclass(frozen=True, slots=True)
class NotWritten:
    """They are not; if that is `unsure`, nobody knows whether they are."""

    key: Ref
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """Estimators have answered what was asked for a binding, by cluster, or could not be asked."""

    key: Ref
    inquiry: Inquiry
    answers: Mapping[str, Answer]


@dataclass(frozen=True, slots=True)
class SearchTook:
    """It took so many seconds to find who gives way to a binding."""

    seconds: float


Event = (
    BindingChanged
    | ClusterChanged
    | PricesChanged
    | TimePassed
    | Turn
    | ScheduleOnWrite
    | Written
    | NotWritten
    | Answered
    | SearchTook
)


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """The next turn is due sooner than it was: who waits for that is to look again."""


@dataclass(frozen=True, slots=True)
class GiveTurn:
    """Give a binding a turn when nothing more pressing is to be done, after so many seconds."""

    key: Ref
    why: Why
    level: Level
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Write:
    """Carry these out in their order, and say what became of them; `cause` led to them."""

    key: Ref
    actions: tuple[Action, ...]
    cause: str = ""


@dataclass(frozen=True, slots=True)
class WriteWith:
    """The binding that somebody is about to write, with its targets."""

    binding: Object


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask estimators, who are told what work is on its way, and say what they answered."""

    key: Ref
    inquiry: Inquiry
    assumed: Sequence[Assumed]


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision was made, whatever becomes of it."""


@dataclass(frozen=True, slots=True)
class Searched:
    """It was searched for who gives way: say how long that took."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A decision was written, or could not be; `began` is when its turn did."""

    key: Ref
    placing: Placing
    began: float
    written: bool = True


@dataclass(frozen=True, slots=True)
class Queued:
    """A binding came to wait for a decision, and why, in Karmada's words."""

    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A turn ended with an error that nobody expected."""

    key: Ref
    error: Exception


@dataclass(frozen=True, slots=True)
class Forget:
    """A binding is no more; neither is what was recorded of its decisions."""

    key: Ref


Instruction = (
    QueueChanged
    | GiveTurn
    | Write
    | WriteWith
    | Ask
    | Decided
    | Searched
    | Scheduled
    | Queued
    | Failed
    | Forget
)
