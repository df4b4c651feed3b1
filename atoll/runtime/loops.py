"""Which event loop a process of ours runs on."""

import asyncio
from collections.abc import Callable


def fastest_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the fastest loop there is; None for the usual one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
