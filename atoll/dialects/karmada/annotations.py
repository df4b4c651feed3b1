"""What Atoll wants to know of a cluster beyond Karmada's fields, written in annotations.

    atoll.io/price:       cpu=0.031, gib=0.0042, nvidia.com/gpu=2.48    per hour and unit
    atoll.io/properties:  network=fast, gpu.example.io/model=a100
    atoll.io/scores:      latency=80, carbon=-15                        whole numbers
    atoll.io/sets:        production, eu-customers

Entries are separated by commas or line breaks. A price is per CPU-hour (`cpu`), per GiB-hour of
memory (`gib`) and per unit-hour of every other resource, with up to nine places; `currency=EUR`
says in what. Where a ClusterPrice is about the cluster, the annotation does not count.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from atoll.dialects.prices import currency, nanos
from atoll.errors import Invalid
from atoll.model.amount import MEMORY
from atoll.model.price import Price
from atoll.model.selector import as_integer

PRICE, PROPERTIES = "atoll.io/price", "atoll.io/properties"
SCORES, SETS = "atoll.io/scores", "atoll.io/sets"
SCORE_MAX = 1_000_000  # sums of weighted scores stay exact in 64 bits


def price(annotations: Mapping[str, str]) -> Price | None:
    written = annotations.get(PRICE)
    return None if written is None else _price(written)


def properties(annotations: Mapping[str, str]) -> Mapping[str, str]:
    return _pairs(PROPERTIES, annotations.get(PROPERTIES, ""))


def scores(annotations: Mapping[str, str]) -> Mapping[str, int]:
    return _scores(annotations.get(SCORES, ""))


def sets(annotations: Mapping[str, str]) -> frozenset[str]:
    return frozenset(_entries(annotations.get(SETS, "")))


@lru_cache(maxsize=1024)
def _entries(written: str) -> tuple[str, ...]:
    return tuple(filter(None, (each.strip() for each in re.split(r"[,\n]", written))))


@lru_cache(maxsize=4096)
def _pairs(annotation: str, written: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for entry in _entries(written):
        key, equals, value = (each.strip() for each in entry.partition("="))
        if not key or not equals:
            raise Invalid(_path(annotation), entry, "must be written key=value")
        if key in found:
            raise Invalid(_path(annotation), entry, f"{key} is given twice")
        found[key] = value
    return found


@lru_cache(maxsize=4096)
def _price(written: str) -> Price:
    path, pairs = _path(PRICE), dict(_pairs(PRICE, written))
    if MEMORY in pairs:
        raise Invalid(path, MEMORY, "memory is priced per GiB-hour; write gib")
    named = pairs.pop("currency", "")
    found = {key: nanos(value, path, key) for key, value in pairs.items()}
    return Price(
        cpu=found.pop("cpu", None),
        gib=found.pop("gib", None),
        others=found,
        currency=currency(named, path) if named else "",
    )


@lru_cache(maxsize=4096)
def _scores(written: str) -> Mapping[str, int]:
    return {key: _score(key, value) for key, value in _pairs(SCORES, written).items()}


def _score(key: str, value: str) -> int:
    found = as_integer(value) if len(value) < 12 else None
    if found is None or abs(found) > SCORE_MAX:
        problem = f"the score {key} must be a whole number from -{SCORE_MAX} to {SCORE_MAX}"
        raise Invalid(_path(SCORES), value, problem)
    return found


def _path(annotation: str) -> str:
    return f"metadata.annotations[{annotation}]"
