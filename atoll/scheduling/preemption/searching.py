"""Walking a tree of choices depth first, at a bounded price.

States and how they branch come in, finished states go out in order. It knows nothing of what is
chosen; recursion depth is not an issue, since the walk keeps its own stack.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

State = TypeVar("State")


@dataclass(slots=True)
class Purse:
    """Nodes that may still be visited."""

    left: int

    def spend(self, nodes: int = 1) -> None:
        self.left -= nodes

    @property
    def empty(self) -> bool:
        return self.left <= 0


def leaves(root: State, children: Callable[[State], Iterator[State] | None]) -> Iterator[State]:
    """The states without children (None), first child first."""
    stack = [iter((root,))]
    while stack:
        state = next(stack[-1], None)
        if state is None:
            stack.pop()
            continue
        below = children(state)
        if below is None:
            yield state
        else:
            stack.append(below)
