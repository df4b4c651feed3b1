"""Random objects of a kind that has every sort of list and map, for the laws of ownership."""

from typing import Any

from hypothesis import strategies as st
from scenario_steps import CRD

from atoll.apiserver.schemas.structural import root_schema

Json = dict[str, Any]

API_VERSION = "rec.example.io/v1"
SHAPE = root_schema(CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "Shape")

texts = st.sampled_from(["a", "b", "c"])
numbers = st.integers(0, 3)
free = st.recursive(
    numbers | texts | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=5,
)
doors = st.lists(
    st.fixed_dictionaries(
        {"side": texts},
        optional={
            "floor": numbers,
            "colour": texts,
            "locks": st.dictionaries(texts, texts, max_size=2),
        },
    ),
    max_size=3,
    unique_by=lambda door: (door["side"], door.get("floor", 0)),
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "size": numbers,
        "ratio": st.sampled_from([0.5, 1, 2.5]),
        "port": numbers | texts,
        "tags": st.lists(texts, unique=True, max_size=3),
        "numbers": st.lists(numbers, unique=True, max_size=3),
        "words": st.lists(texts, max_size=2),
        "doors": doors,
        "names": st.dictionaries(
            texts, st.fixed_dictionaries({}, optional={"first": texts, "last": texts}), max_size=2
        ),
        "point": st.fixed_dictionaries({}, optional={"x": numbers, "y": numbers}),
        "free": st.dictionaries(texts, free, max_size=2),
    },
)
managers = st.sampled_from(["one", "two", "three"])


def shape(spec: Json) -> Json:
    type_meta = {"apiVersion": API_VERSION, "kind": "Shape"}
    return {**type_meta, "metadata": {"name": "s", "namespace": "default"}, "spec": spec}


shapes = specs.map(shape)


def without_empty(value: Any) -> Any:
    """The value without lists and maps of nothing, which Kubernetes may prune to null."""
    if isinstance(value, dict):
        inner = {key: without_empty(child) for key, child in value.items()}
        return {key: child for key, child in inner.items() if child not in (None, {}, [])}
    return [without_empty(child) for child in value] if isinstance(value, list) else value


full_specs = specs.map(without_empty).filter(bool)
KEYS = (
    *("spec", "status", "metadata", "tags", "doors", "names", "free", "point", "side", "floor"),
    *("managedFields", "annotations", "labels", "template", "containers", "ports", "name"),
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=15,
)
