"""How a part of Atoll is started as a program of its own, beside this one."""

import os
import sys
from pathlib import Path

import atoll


def own_program(module: str, *words: str) -> list[str]:
    """What runs a module of this very package, with nothing that lies around where it runs."""
    return [sys.executable, "-P", "-m", module, *words]


def own_environment() -> dict[str, str]:
    """The environment in which it finds this very package."""
    root = str(Path(atoll.__file__).parent.parent)
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}
