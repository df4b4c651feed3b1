"""Tolerations and taints as Kubernetes writes them, on nodes and on clusters alike."""

from functools import lru_cache

from atoll.dialects.wire import INT64, at, instant, name, number, parts, text
from atoll.errors import Invalid
from atoll.model.taint import Effect, Taint, Toleration
from atoll.wire import Object

EFFECTS = {effect.value: effect for effect in Effect}
ANY_VALUE = {"": False, "Equal": False, "Exists": True}

_taint = lru_cache(maxsize=4096)(Taint)


def tolerations(wire: Object, key: str, path: str) -> tuple[Toleration, ...]:
    """The tolerations that tolerate something: an unknown operator or effect meets no taint."""
    found = (toleration(each, here) for here, each in parts(wire, key, path))
    return tuple(each for each in found if each is not None)


def toleration(wire: Object, path: str) -> Toleration | None:
    operator, effect = text(wire, "operator", path), text(wire, "effect", path)
    given = Toleration(
        key=text(wire, "key", path),
        value=text(wire, "value", path),
        effect=EFFECTS.get(effect),
        any_value=ANY_VALUE.get(operator, False),
        seconds=number(wire, "tolerationSeconds", path, least=-INT64, most=INT64),
    )
    return given if operator in ANY_VALUE and (not effect or effect in EFFECTS) else None


def taints(wire: Object, key: str, path: str) -> tuple[Taint, ...]:
    """The taints, each shared with every other cluster or node that has it."""
    return tuple(_read(each, here) for here, each in parts(wire, key, path))


def _read(wire: Object, path: str) -> Taint:
    effect = text(wire, "effect", path)
    if effect not in EFFECTS:
        raise Invalid(at(path, "effect"), effect, f"must be one of {', '.join(EFFECTS)}")
    added = instant(wire, "timeAdded", path)
    return _taint(
        name(wire, "key", path),
        EFFECTS[effect],
        text(wire, "value", path),
        None if added is None else added / 1_000_000_000,
    )
