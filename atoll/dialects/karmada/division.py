"""Karmada's replicaScheduling and spreadConstraints: how replicas are divided, and among whom."""

from atoll.dialects.karmada import affinity
from atoll.dialects.wire import INT64, at, number, part, parts, text
from atoll.errors import Invalid
from atoll.model.affinity import Affinity
from atoll.model.intent import (
    Available,
    Constrained,
    Constraint,
    Division,
    Duplicated,
    Everyone,
    Field,
    Selection,
    Unsupported,
    Weighted,
)
from atoll.wire import Object


def division(strategy: Object | None, path: str) -> Division:
    """How replicas are divided: without a strategy every cluster runs all of them."""
    if strategy is None:
        return Duplicated(stated=False)
    kind = text(strategy, "replicaSchedulingType", path) or "Divided"
    preference = text(strategy, "replicaDivisionPreference", path)
    given = part(strategy, "weightPreference", path) or {}
    weights = _weights(given, at(path, "weightPreference"))
    dynamic = bool(text(given, "dynamicWeight", at(path, "weightPreference")))
    match kind, preference:
        case "Duplicated", _:
            return Duplicated()
        case "Divided", "Aggregated":
            return Available(aggregated=True)
        case "Divided", "Weighted":
            return Available() if dynamic else Weighted(weights)
    return Unsupported(kind, preference)


def unused_weights(
    strategy: Object | None, how: Division, path: str
) -> tuple[tuple[Affinity, int], ...]:
    """Weights that are listed although the division does not look at them."""
    given = part(strategy or {}, "weightPreference", path)
    if given is None or isinstance(how, Weighted):
        return ()
    return _weights(given, at(path, "weightPreference"))


def _weights(preference: Object, path: str) -> tuple[tuple[Affinity, int], ...]:
    found = []
    for here, each in parts(preference, "staticWeightList", path):
        target = part(each, "targetCluster", here) or {}
        weight = number(each, "weight", here, most=INT64) or 0
        found.append((affinity.decode(target, at(here, "targetCluster")), weight))
    return tuple(found)


def selection(strategy: Object | None, spread: tuple[Constraint, ...], how: Division) -> Selection:
    """Every feasible cluster where no constraint counts: with static weights none does.

    Karmada overlooks an empty weight preference (`{}`): it divides evenly, yet under constraints.
    """
    static = isinstance(how, Weighted) and (
        bool(how.weights) or (strategy or {}).get("weightPreference") is None
    )
    return Constrained() if spread and not static else Everyone()


def constraints(wire: Object, path: str) -> tuple[Constraint, ...]:
    return tuple(_constraint(each, here) for here, each in parts(wire, "spreadConstraints", path))


def _constraint(wire: Object, path: str) -> Constraint:
    """One constraint; a least of nothing means one, as Karmada's admission fills it in."""
    return Constraint(
        field=_field(text(wire, "spreadByField", path), path),
        label=text(wire, "spreadByLabel", path),
        least=number(wire, "minGroups", path, least=-INT64, most=INT64) or 1,
        most=number(wire, "maxGroups", path, least=-INT64, most=INT64) or 0,
    )


def _field(written: str, path: str) -> Field | None:
    if not written:
        return None
    if written not in tuple(Field):
        raise Invalid(at(path, "spreadByField"), written, f"must be one of {', '.join(Field)}")
    return Field(written)
