"""Trying until something holds, for commands that wait: how often, and how long at most."""

from collections.abc import Callable, Iterator

Pause = Callable[[float], None]


def tries(within_s: float, step_s: float, pause: Pause) -> Iterator[None]:
    """Once at once, and then with pauses until so much time has passed in them."""
    waited_s = 0.0
    yield
    while waited_s < within_s:
        pause(step_s)
        waited_s += step_s
        yield
