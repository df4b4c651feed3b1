"""How a part of Atoll is started as a program of its own, beside this one."""

import os
import signal
import sys
from pathlib import Path

import atoll

_SET_PARENT_DEATH_SIGNAL = 1  # as Linux numbers what `prctl` can do


def end_with_parent() -> None:
    """Let this process be killed when the thread that started it ends, even if it is frozen.

    Only Linux does that; elsewhere a process must notice by itself.
    """
    if sys.platform == "linux":
        import ctypes  # which few need

        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def own_program(module: str, *words: str) -> list[str]:
    """What runs a module of this very package, with nothing that lies around where it runs."""
    return [sys.executable, "-P", "-m", module, *words]


def own_environment() -> dict[str, str]:
    """The environment in which it finds this very package."""
    root = str(Path(atoll.__file__).parent.parent)
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}
