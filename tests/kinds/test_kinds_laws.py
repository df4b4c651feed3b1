"""Laws that hold for any object of roughly the right shape, whatever is in it."""

import copy
import json
import random
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds_recorded import builtins

from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.schemas.scalars import canonical_quantity
from atoll.apiserver.tables import table
from atoll.model.quantity import parse

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RESOURCES = [pytest.param(r, id=f"{r.plural}.{r.group}".rstrip(".")) for r in builtins()]
TEXTS = ("", "a", "A_", "None", "Always", "Never", "RollingUpdate", "100m", "25%", "x:1", "::1")
SCALARS = {
    "string": TEXTS,
    "integer": (-2, 0, 1, 3, 70000),
    "number": (-1.5, 0.0, 2.0),
    "boolean": (True, False),
    "int-or-string": (-1, 0, 3, *TEXTS),
    "any": (None, "a", 1),
}
FORMATS = {
    "date-time": ("2020-01-01T00:00:00Z",),
    "micro-time": ("2020-01-01T00:00:00.000000Z",),
    "quantity": ("0", "1", "-1", "100m", "1Gi"),
}
USUAL = ("metadata", "spec", "template", "containers", "selector")


def value_of(schema, chance, depth):
    """A value of a schema, as decoding lets it through: anything may be absent."""
    if schema.type in SCALARS:
        return chance.choice(FORMATS.get(schema.format, SCALARS[schema.type]))
    if schema.type == "list":
        size = chance.choice((0, 1, 2)) if depth else 0
        return [value_of(schema.element, chance, depth - 1) for _ in range(size)]
    if schema.type == "map":
        keys = chance.sample(("a", "storage", "cpu", "app"), chance.choice((0, 1, 2)))
        return {key: value_of(schema.element, chance, depth - 1) for key in keys if depth}
    keys = sorted(schema.fields) if depth else []
    chosen = {*chance.sample(keys, min(len(keys), chance.randint(0, 4)))}
    chosen |= {key for key in USUAL if key in keys}
    return {key: value_of(schema.fields[key], chance, depth - 1) for key in sorted(chosen)}


def objects_of(resource):
    """Objects of a resource, each made from one number: the tree is too wide to draw it."""
    seeds = st.integers(0, 2**32)
    return seeds.map(lambda seed: value_of(resource.schema, random.Random(seed), 7))


LAW = settings(max_examples=25, deadline=None, database=None)


@pytest.mark.parametrize("resource", RESOURCES)
@LAW
@given(data=st.data())
def test_defaulting_is_idempotent_and_rules_and_tables_are_total(resource, data):
    obj = data.draw(objects_of(resource))
    resource.strategy.default(obj)
    resource.strategy.prepare_create(obj)
    again = copy.deepcopy(obj)
    resource.strategy.default(again)
    assert again == obj
    errors = [*resource.strategy.errors(obj), *resource.strategy.update_errors(obj, again)]
    assert all(isinstance(error, FieldError) and str(error) for error in errors)
    json.dumps(table(resource, [obj], NOW))


@pytest.mark.parametrize("resource", RESOURCES)
@LAW
@given(data=st.data())
def test_any_object_may_replace_any_other_as_far_as_the_program_goes(resource, data):
    old, new = (data.draw(objects_of(resource)) for _ in range(2))
    resource.strategy.default(old)
    resource.strategy.prepare_update(new, old)
    resource.strategy.default(new)
    assert all(str(error) for error in resource.strategy.update_errors(new, old))


@given(
    st.integers(-(10**6), 10**6),
    st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E2"]),
)
def test_a_quantity_keeps_its_value_in_canonical_form(number, suffix):
    written = f"{number}{suffix}"
    assert parse(canonical_quantity(written)) == parse(written)
