"""One Lua 5.1 runtime that runs functions of users' scripts on plain values.

JSON values come in and go out; an empty table comes out as an empty list, since Lua cannot tell.
Scripts reach the functions listed here and the module `kube`; memory is bounded. Time is not: who
uses this does so in a process that can be killed, since no hook stops every script.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from lupa import lua51

from atoll.dialects.wire import INT64
from atoll.errors import AtollError
from atoll.lua.kube import FUNCTIONS

MEMORY_MAX = 64 << 20
SCRIPTS_KEPT = 64
DEPTH_MAX = 200
EXACT_MAX = 2**53
OUT_OF_MEMORY = "not enough memory"

AVAILABLE = {
    "functions": (
        *("assert", "error", "ipairs", "next", "pairs", "pcall", "select", "tonumber"),
        *("tostring", "type", "unpack", "xpcall"),
    ),
    "libraries": {
        "string": (
            *("byte", "char", "find", "format", "gmatch", "len", "lower", "match", "reverse"),
            *("sub", "upper"),
        ),
        "table": ("concat", "getn", "insert", "maxn", "remove", "sort"),
        "math": (
            *("abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "deg", "exp"),
            *("floor", "fmod", "frexp", "huge", "ldexp", "log", "log10", "max", "min", "mod"),
            *("modf", "pi", "pow", "rad", "random", "randomseed", "sin", "sinh", "sqrt", "tan"),
            "tanh",
        ),
        "os": ("date", "time"),
    },
}
# These answer that they are not available, as in Karmada; others do not exist.
WITHHELD = {
    "functions": (
        *("collectgarbage", "dofile", "getfenv", "getmetatable", "load", "loadfile"),
        *("loadstring", "rawequal", "rawget", "rawset", "setfenv", "setmetatable", "module"),
        "newproxy",
    ),
    "string": ("dump", "gsub", "rep"),
}


class Failed(AtollError):
    """The script did not do what was asked; the message is for its author."""


class _Misfit(Failed):
    """Something in a value is no data, and where."""

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path


class Sandbox:
    """A runtime, and the scripts compiled in it."""

    def __init__(self, memory_max: int = MEMORY_MAX) -> None:
        self._memory_max = memory_max
        self._lua = lua51.LuaRuntime(
            unpack_returned_tuples=True,
            register_eval=False,
            register_builtins=False,
            attribute_filter=_no_attribute,
            max_memory=memory_max,
        )
        self._collect = self._lua.globals()["collectgarbage"]
        offered = self._lua.table_from({name: self._asked(f) for name, f in FUNCTIONS.items()})
        prelude = files("atoll.lua").joinpath("prelude.lua").read_text()
        self._compile, self._check, self._call = self._lua.execute(
            prelude, offered, self._names(AVAILABLE), self._names(WITHHELD)
        )
        self._compiled: OrderedDict[str, Any] = OrderedDict()

    def check(self, script: str, function: str) -> None:
        """See that a script defines a function, without calling it."""
        chunk = self._chunk(script)
        with _failing():
            problem = self._check(chunk, function)
        if problem:
            raise Failed(problem)

    def run(self, script: str, function: str, arguments: list[Any], *, nulls: bool) -> list[Any]:
        """The first two results of a function of a script.

        Arguments are newly read JSON, with keys in order, and say whether there are nulls in them.
        """
        chunk = self._chunk(script)
        with _failing():
            if self._lua.get_memory_used() > self._memory_max // 4:
                self._collect("collect")
            given = [self._argument(each, nulls=nulls) for each in arguments]
            done, *results = self._call(chunk, function, *given)
            if not done:
                raise Failed(results[0])
            return [_plain(each, f"result {at}") for at, each in enumerate(results, 1)]

    def _chunk(self, script: str) -> Any:
        chunk = self._compiled.get(script)
        if chunk is None:
            # Compiled Lua can do anything to the process that loads it.
            if script.startswith("\x1b"):
                raise Failed("script:1: compiled Lua is not accepted; give the source")
            compiled = self._compile(script)
            chunk, problem = compiled if isinstance(compiled, tuple) else (compiled, "")
            if chunk is None:
                raise Failed(problem)
            self._compiled[script] = chunk
            if len(self._compiled) > SCRIPTS_KEPT:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(script)
        return chunk

    def _asked(self, function: Callable[..., Any]) -> Callable[..., tuple[bool, Any]]:
        """A function for Lua: what is wrong comes back as text and not as a Python object."""

        def ask(count: int, *arguments: Any) -> tuple[bool, Any]:
            given = (*arguments, *[None] * (count - len(arguments)))
            try:
                plain = [_pruned(_plain(each, "argument")) for each in given]
                return True, self._lua_value(function(*plain))
            except (AtollError, ArithmeticError, RecursionError, UnicodeError) as error:
                return False, str(error)

        return ask

    def _names(self, value: Any) -> Any:
        """Names as keys of a table, which Lua walks without a library."""
        if isinstance(value, dict):
            return self._lua.table_from({key: self._names(each) for key, each in value.items()})
        return self._lua.table_from(dict.fromkeys(value, True))

    def _argument(self, value: Any, *, nulls: bool) -> Any:
        if isinstance(value, dict | list) and not nulls:
            try:
                # Quick, and sure only where nothing occurs twice, as in what was just read.
                return self._lua.table_from(value, recursive=True)
            except OverflowError:
                pass
        return self._lua_value(value)

    def _lua_value(self, value: Any) -> Any:
        # Made level by level: lupa's own deep conversion confuses what occurs twice.
        if isinstance(value, dict):
            # Sorted: in which order a table is walked depends on the order it was filled in.
            made = ((key, self._lua_value(each)) for key, each in sorted(value.items()))
            return self._lua.table_from({key: each for key, each in made if each is not None})
        if isinstance(value, list):
            return self._lua.table_from([self._lua_value(v) for v in value if v is not None])
        if isinstance(value, int) and abs(value) > EXACT_MAX:
            return float(value)
        return value


@contextmanager
def _failing() -> Iterator[None]:
    """What Lua raises, as what is said to a script's author."""
    try:
        yield
    except lua51.LuaMemoryError as error:
        raise MemoryError(OUT_OF_MEMORY) from error
    except lua51.LuaError as error:
        raise Failed(str(error).partition("\nstack traceback")[0]) from error
    except UnicodeError as error:
        raise Failed("gave text that is not UTF-8") from error


def _plain(value: Any, name: str) -> Any:
    """A value of Lua as data; what is none is said by its place in what has this name."""
    try:
        return _data(value, 0)
    except _Misfit as misfit:
        raise Failed(f"{name}{misfit.path[:80]} {misfit.problem}") from None


def _data(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= INT64 else float(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _Misfit(f"is {value}, which is no number for JSON")
        return value
    kind = lua51.lua_type(value)
    if kind != "table":
        raise _Misfit(f"is a {kind or 'Python object'}; only data can be an answer")
    if depth > DEPTH_MAX:
        raise _Misfit(f"has tables deeper than {DEPTH_MAX} levels or in a circle")
    return _table(dict(value.items()), depth)


def _table(found: dict[Any, Any], depth: int) -> Any:
    key = None
    try:
        if found and all(isinstance(key, str) for key in found):
            named = {}
            for key, each in found.items():
                named[key] = _data(each, depth + 1)
            return named
        listed = []
        for key in range(1, len(found) + 1):
            listed.append(_data(found[key], depth + 1))
    except KeyError:
        problem = "must have either names or the numbers 1, 2, 3, ... as keys"
        raise _Misfit(problem) from None
    except _Misfit as misfit:
        inside = f".{key}" if isinstance(key, str) else f"[{key}]"
        raise _Misfit(misfit.problem, inside + misfit.path) from None
    return listed


def _pruned(value: Any) -> Any:
    """Without what is empty: nobody can say if it was a list or an object."""
    if isinstance(value, dict):
        return {key: _pruned(each) for key, each in value.items() if each != []}
    return [_pruned(each) for each in value] if isinstance(value, list) else value


def _no_attribute(_object: Any, name: str, _is_setting: bool) -> str:  # noqa: FBT001 (lupa's)
    raise AttributeError(f"{name} is out of reach")
