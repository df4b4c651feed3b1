"""The only reconcile loop. A controller is a value: what it observes, and how it plans.

Nothing is remembered between rounds. Cancelled at any await, the next round sees what was done and
plans the rest, so a crash needs no clean-up. A round that needs an answer from outside waits for it
and plans anew; only half of the usual workers may do so, and the keys of others go on meanwhile.
"""

from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Generic, TypeVar

from atoll.client.api import Refused
from atoll.client.transport import Unreachable
from atoll.control.levels import Level
from atoll.control.numbers import ERROR, SUCCESS
from atoll.control.performing import LookAgain, Performer
from atoll.effects import stopwatch
from atoll.errors import AtollError
from atoll.interpreting.asking import Known, Unanswered
from atoll.model.action import NOTHING, PLANE, Action, Create, Plan, Ref, Tell
from atoll.runtime.children import Children
from atoll.runtime.turns import Turns
from atoll.runtime.worklist import Worklist
from atoll.wire import Wire

K = TypeVar("K", bound=Hashable)
Failure = tuple[Action, Exception]
CarryOut = Callable[[Plan], Awaitable[Failure | None]]
Follow = Callable[[K, Plan, float, CarryOut], Awaitable[Failure | None]]

_AGAIN_S = 0.02
_AGAIN_AT_MOST_S = 1.0
_ASKING_MAX = 2
_QUESTIONS_MAX = 256


class TooManyQuestions(AtollError):
    """A round needs more answers than it may ask for; those it got are kept where they last."""


def _is_no_news(action: Action, refusal: Refused) -> bool:
    return False


def _is_answered(action: Action) -> bool:
    return True


def _need_not_know(action: Action, stored: Wire | None) -> None:
    return


def _count_nothing(seconds: float, result: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class Controller(Generic[K]):
    """`observe` gathers what is known of a key from the mirrors; `plan` is pure.

    A plan for what is not there any more is nothing: `observe` then returns None. `refused` is told
    what an API server refused, and says whether that is news worth planning for at once; `done` is
    told what was done, and what was stored. `answers` says whether the place of an action may be
    asked how that went; while not, plans must do without. `took` is told how long each round took
    that did something or failed, and with which result. `follow`, if there is one, is handed each
    plan, for which key it is, when the round began by the stopwatch, and how to carry it out.
    """

    name: str
    observe: Callable[[K], Any | None]
    plan: Callable[[Any], Plan]
    refused: Callable[[Action, Refused], bool] = _is_no_news
    done: Callable[[Action, Wire | None], None] = _need_not_know
    answers: Callable[[Action], bool] = _is_answered
    took: Callable[[float, str], None] = _count_nothing
    follow: Follow[K] | None = None


class Loop(Generic[K]):
    """Brings every key that is woken a step closer to what its owner asked for."""

    def __init__(
        self,
        controller: Controller[K],
        performer: Performer,
        turns: Turns | None = None,
        *,
        again: Level = Level.ARRIVE,
        few: float = inf,
        lane: Callable[[K], str] | None = None,
    ) -> None:
        """`again`: how much it presses to look again at what a plan was not done with. `few`: of
        more keys than that which press little, all wait until nothing else presses. `lane`: whom
        a key is looked at for; what is in a namespace, for that.
        """
        self._controller = controller
        self._performer = performer
        self._again = again
        # Which members do not answer is told by their connections, once, and not for every object.
        self._keys: Worklist[K] = Worklist(
            controller.name, turns, passing=(Unreachable,), few=few, lane=lane or _namespace
        )
        self._late: dict[K, float] = {}
        self._unsure: dict[K, Action] = {}
        self._asking = 0
        self._waiting_to_ask: dict[K, None] = {}

    @property
    def name(self) -> str:
        return self._controller.name

    def wake(self, key: K, level: Level = Level.ARRIVE) -> None:
        self._keys.add(key, level)

    def close(self) -> None:
        """Nothing more will be woken; whoever runs this may be ended."""
        self._keys.close()

    async def run(self) -> None:
        """Work on what is woken, for ever; several may do so at once."""
        await self._keys.run(self._reconcile)

    async def _reconcile(self, key: K) -> None:
        begun = stopwatch()
        try:
            result = await self._round(key, begun)
        except Exception:
            self._controller.took(stopwatch() - begun, ERROR)
            raise
        if result:
            self._controller.took(stopwatch() - begun, result)

    async def _round(self, key: K, begun: float) -> str:
        """Look at a key once, and do what is to be done; the result, if something was."""
        unsure = self._unsure.get(key)
        if unsure is not None and self._controller.answers(unsure):
            await self._performer.look(unsure)
            del self._unsure[key]
        plan, follow = await self._planned(key), self._controller.follow
        if follow is None:
            failed = await self._carry_out(plan)
        else:
            failed = await follow(key, plan, begun, self._carry_out)
        if failed is not None:
            return self._stopped(key, *failed)
        self._late.pop(key, None)
        if plan.again_in is not None:
            self._keys.add_later(key, plan.again_in, self._again)
        return SUCCESS if plan.actions else ""

    async def _carry_out(self, plan: Plan) -> Failure | None:
        """Do what a plan says, up to the first thing that fails, which is told."""
        for actions in _steps(plan.actions):
            failed: list[Failure] = []
            for action, outcome in zip(actions, await self._tried(actions), strict=True):
                if isinstance(outcome, Exception):
                    failed.append((action, outcome))
                else:
                    self._controller.done(action, outcome)
            if failed:
                return failed[0]
        return None

    async def _tried(self, actions: Sequence[Action]) -> Sequence[Wire | Exception | None]:
        """What came of each of several actions that are carried out at once."""
        if len(actions) == 1:
            return [await self._outcome(actions[0])]
        async with Children(self._controller.name) as children:
            tried = [children.spawn(self._outcome(each), "create") for each in actions]
            return [await each for each in tried]

    async def _outcome(self, action: Action) -> Wire | Exception | None:
        if isinstance(action, Tell):
            self._performer.tell_later(action)
            return None
        try:
            return await self._performer.perform(action)
        except Exception as problem:  # noqa: BLE001 - it is raised where all outcomes are known
            return problem

    def _stopped(self, key: K, action: Action, problem: Exception) -> str:
        """The result of a round that could not be finished; raises what nobody expects."""
        if isinstance(problem, LookAgain):
            # The mirror will tell; should it have told already, a moment later is soon enough.
            # While it lags, every try is in vain: they become fewer.
            pause_s = self._late.get(key, _AGAIN_S)
            self._late[key] = min(2 * pause_s, _AGAIN_AT_MOST_S)
            self._keys.add_later(key, pause_s)
            return ""
        if isinstance(problem, Unreachable):
            # It may have happened: what is planned next must know.
            self._unsure[key] = action
        if isinstance(problem, Refused) and self._controller.refused(action, problem):
            self._keys.add(key)
            return ERROR
        raise problem

    async def _planned(self, key: K) -> Plan:
        """What is to be done now: nothing, if the key has to wait for its turn to ask."""
        held: list[Known] = []
        is_asking = False
        try:
            while len(held) <= _QUESTIONS_MAX:
                try:
                    seen = self._controller.observe(key)
                    plan = NOTHING if seen is None else self._controller.plan(seen)
                except Unanswered as question:
                    if not is_asking and self._asking >= _ASKING_MAX:
                        self._waiting_to_ask[key] = None
                        return NOTHING
                    self._asking += not is_asking
                    is_asking = True
                    held.append(await question.find_out())
                    continue
                return _looked_at_again(plan, held)
        finally:
            self._asking -= is_asking
            self._let_next_ask()
        raise TooManyQuestions(f"{key}: more than {_QUESTIONS_MAX} questions in one round")

    def _let_next_ask(self) -> None:
        """Wake a key that waits to ask; when its round ends, asking or not, comes the next."""
        if self._waiting_to_ask and self._asking < _ASKING_MAX:
            key = next(iter(self._waiting_to_ask))
            del self._waiting_to_ask[key]
            self._keys.add(key)


def _namespace(key: Hashable) -> str:
    return key.namespace if isinstance(key, Ref) else ""


def _steps(actions: Sequence[Action]) -> Iterator[list[Action]]:
    """The actions in their order, with those that may be done at once together.

    What is made in the plane waits for nothing else that is made there: one that turns out to be
    there is refused, whatever became of the others.
    """
    step: list[Action] = []
    for action in actions:
        is_made = isinstance(action, Create) and action.at == PLANE
        if step and not is_made:
            yield step
            step = []
        if is_made:
            step.append(action)
        else:
            yield [action]
    if step:
        yield step


def _looked_at_again(plan: Plan, held: list[Known]) -> Plan:
    """The plan, made anew as soon as an answer may be another one."""
    pauses = [each.again_in for each in held if each.again_in is not None]
    if not pauses:
        return plan
    due = min(pauses) if plan.again_in is None else min(*pauses, plan.again_in)
    return replace(plan, again_in=due)
