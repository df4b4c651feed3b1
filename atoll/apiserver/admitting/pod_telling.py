"""How it is told what is wrong with a pod: by which of its containers, in Kubernetes' words."""

from collections.abc import Callable, Iterator

from atoll.apiserver.kinds.reading import Object, part, parts, text

Fault = tuple[str, str]  # the rule in short, and what breaks it
Check = Callable[[Object, Object], Fault | None]
"""Looks at a pod's spec and annotations."""

_LISTS = ("initContainers", "containers", "ephemeralContainers")


def containers(spec: Object) -> Iterator[tuple[str, Object, Object]]:
    """Every container with its name and its security context."""
    for kind in _LISTS:
        for one in parts(spec, kind):
            yield text(one, "name"), one, part(one, "securityContext")


def quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def several(word: str, names: list[str]) -> str:
    """One thing, or several, by their names."""
    return f"{word if len(names) == 1 else word + 's'} {quoted(names)}"


def setters(*, pod: bool, containers: list[str]) -> str:
    """Who has set something: the pod, containers, or both."""
    every = ["pod"] if pod else []
    return " and ".join([*every, *([several("container", containers)] if containers else [])])


def uses(names: list[str]) -> str:
    return "uses" if len(names) == 1 else "use"
