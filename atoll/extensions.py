"""How a plane's scheduler is set up: its feature gates, and the plug-ins that take part.

These are Atoll's own and those installed beside it, less those switched off. Python entry points
come in, plug-ins go out. The group of an entry point says what kind of plug-in it names, its name
is what the plug-in is called in explanations and when it is switched off. What it names is the
plug-in, or a class or function that makes it without arguments. What cannot be used is refused at
the start, with the distribution it came from; nothing is decided here.
"""

import re
from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from atoll.config import ALL_PLUGINS
from atoll.errors import UsageError
from atoll.scheduling.features import PLANE_USUAL, Features
from atoll.scheduling.guarding import GuardedDivision, GuardedFilter, GuardedScore, GuardedSelection
from atoll.scheduling.one_cluster import FilterOneByOne, ScoreOneByOne
from atoll.scheduling.plugin import Division, Filter, Plugins, Score
from atoll.scheduling.plugins import DEFAULT
from atoll.scheduling.setting import Setting

PREFIX = "atoll."
FILTERS, SCORES = f"{PREFIX}filters", f"{PREFIX}scores"
SELECTIONS, DIVISIONS = f"{PREFIX}selections", f"{PREFIX}divisions"
_FORMS = {
    FILTERS: ("compile", "admits"),
    SCORES: ("compile", "score"),
    SELECTIONS: ("compile",),
    DIVISIONS: ("compile",),
}
"""By group: the method a plug-in of its kind has, on columns or for one cluster at a time."""
_NAME = re.compile(r"\w[\w.-]*")


def scheduler_setting(feature_gates: str, listed: str) -> Setting:
    """The one setting of a plane, from its flags, for everybody who asks its scheduler."""
    return Setting(Features.of(feature_gates, PLANE_USUAL), plugins(listed))


def plugins(listed: str = ALL_PLUGINS) -> Plugins:
    """All that a list leaves on; what it switches off is not even loaded."""
    groups = sorted(group for group in entry_points().groups if group.startswith(PREFIX))
    found = [each for group in groups for each in entry_points(group=group)]
    strategies = Plugins((), (), DEFAULT.selections, DEFAULT.divisions).names
    strategies += [each.name for each in found if each.group in (SELECTIONS, DIVISIONS)]
    on = _switched_on(listed, [*DEFAULT.names, *(each.name for each in found)], strategies)
    own = DEFAULT.without(name for name in DEFAULT.names if name not in on)
    return own.joined(load(each for each in found if each.name in on))


def _switched_on(listed: str, known: Sequence[str], strategies: Iterable[str]) -> set[str]:
    """The names that a list such as `*,-TaintToleration` leaves on, as Karmada reads it.

    `*` is all, a name switches on and `-name` off, and of two words about one plug-in the later
    counts. Karmada's list is about filters and scores: selections and divisions are on unless
    they are switched off. Unlike Karmada's, a name that nobody has is refused, and so is a list
    that switches nothing on: it would leave work without any filter.
    """
    words = [word.strip() for word in listed.split(",") if word.strip()]
    on = dict.fromkeys(known if "*" in words else strategies, True)
    for word in words:
        if word != "*":
            on[word.removeprefix("-")] = not word.startswith("-")
    if all(word.startswith("-") for word in words):
        problem = "switches nothing on; write * for all, and then what is off: *,-NAME"
        raise UsageError(f"--plugins={listed} {problem}")
    for name in on:
        if name not in known:
            raise UsageError(f"--plugins: there is no plug-in {name!r}; known: {', '.join(known)}")
    return {name for name, is_on in on.items() if is_on}


def load(found: Iterable[EntryPoint]) -> Plugins:
    """The plug-ins that entry points name, in the order of their names."""
    entries = sorted(found, key=lambda each: (each.name, each.group, each.value))
    _expect_names(entries)
    made = [(entry, _made(entry)) for entry in entries]
    return Plugins(
        tuple(_filter(*each) for each in made if each[0].group == FILTERS),
        tuple(_score(*each) for each in made if each[0].group == SCORES),
        tuple(GuardedSelection(entry.name, it) for entry, it in made if entry.group == SELECTIONS),
        tuple(_division(*each) for each in made if each[0].group == DIVISIONS),
    )


def _expect_names(entries: Iterable[EntryPoint]) -> None:
    """Names tell plug-ins apart, and can be written in a list."""
    taken = dict.fromkeys(DEFAULT.names, "Atoll itself")
    for entry in entries:
        if entry.group not in _FORMS:
            raise _unusable(entry, f"there is no such group; known: {', '.join(_FORMS)}")
        if not _NAME.fullmatch(entry.name):
            raise _unusable(entry, "its name must be made of letters, digits, '_', '.' and '-'")
        if entry.name in taken:
            problem = f"{taken[entry.name]} has a plug-in of this name; choose another"
            raise _unusable(entry, problem)
        taken[entry.name] = _origin(entry)


def _made(entry: EntryPoint) -> Any:
    """What an entry point names, made if need be, and seen to have the form of its kind."""
    forms = _FORMS[entry.group]
    try:
        named = entry.load()
        ready = not isinstance(named, type) and any(hasattr(named, form) for form in forms)
        made = named if ready or not callable(named) else named()
    except Exception as error:
        raise _broken(entry, f"cannot be loaded: {type(error).__name__}: {error}") from error
    if sum(callable(getattr(made, form, None)) for form in forms) != 1:
        wanted = " or ".join(f"`{form}`" for form in forms)
        raise _broken(entry, f"must have the method {wanted}; it is {made!r:.100}")
    return made


def _filter(entry: EntryPoint, made: Any) -> Filter:
    kind = FilterOneByOne if hasattr(made, "admits") else GuardedFilter
    spares_placed = _flag(entry, made, "spares_placed", usual=True)
    return kind(entry.name, made, spares_placed, _flag(entry, made, "shared", usual=False))


def _score(entry: EntryPoint, made: Any) -> Score:
    kind = ScoreOneByOne if hasattr(made, "score") else GuardedScore
    return kind(entry.name, made)


def _division(entry: EntryPoint, made: Any) -> Division:
    return GuardedDivision(entry.name, made, _flag(entry, made, "by_tier", usual=True))


def _flag(entry: EntryPoint, made: Any, flag: str, *, usual: bool) -> bool:
    value = getattr(made, flag, usual)
    if not isinstance(value, bool):
        raise _broken(entry, f"has a flag `{flag}` that must be True or False; it is {value!r}")
    return value


def _broken(entry: EntryPoint, problem: str) -> UsageError:
    remedy = f"mend it, uninstall it, or switch it off with --plugins=*,-{entry.name}"
    return _unusable(entry, f"{entry.value} {problem}; {remedy}")


def _unusable(entry: EntryPoint, problem: str) -> UsageError:
    where = f"entry point {entry.name!r} in {entry.group} of {_origin(entry)}"
    return UsageError(f"{where}: {problem}")


def _origin(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown distribution"
