"""Expressions that mean harm, and text that is none: an end comes soon, and never as a surprise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.apiserver.cel.compiling import Program, compile_expression, declare
from atoll.apiserver.cel.faults import Failed, NotAnExpression, NotRunnable, OverBudget
from atoll.apiserver.cel.kinds import DYN

BUDGET = 20_000
X = {"items": list(range(50)), "text": "a" * 1000, "map": {str(i): i for i in range(50)}}
DECLARED = declare({"x": DYN})

ENDLESS = {
    "loops in loops": "x.items.all(a, x.items.all(b, x.items.all(c, x.items.all(d, a + d >= 0))))",
    "a long range": "lists.range(1000000000).size() > 0",
    "ranges in ranges": "lists.range(1000).all(a, lists.range(1000).all(b, a == a))",
    "doubled texts": "x.items.map(a, x.text + x.text + x.text).map(b, b + b + b + b).size() > 0",
    "replaced texts": "x.text.replace('a', x.text).replace('a', x.text).size() > 0",
    "joined texts": "x.items.map(i, x.text).map(i, x.items.map(j, i).join(i)).size() > 0",
    "formatted texts": "x.items.all(a, x.items.all(b, '%s%s'.format([x.items, x.map]) != ''))",
    "compared lists": "x.items.all(a, x.items.all(b, x.items == x.items && x.map == x.map))",
    "distinct items": "lists.range(5000).distinct().size() > 0",
    "sets": "sets.equivalent(lists.range(3000), lists.range(3000))",
    "sorted lists": "x.items.all(i, lists.range(500).reverse().sort()[0] == 0)",
    "searched texts": "x.items.all(i, x.text.matches('(a*)*(b*)*(c*)*(a|b|c)*$'))",
    "found texts": "x.items.all(i, x.text.findAll('a').size() > 0)",
}


@pytest.mark.parametrize("case", ENDLESS)
def test_an_expression_that_takes_too_long_is_ended(case: str) -> None:
    program = compile_expression(ENDLESS[case], DECLARED)
    with pytest.raises(OverBudget):
        program.evaluate({"x": X}, BUDGET)


def test_nothing_overcomes_the_end_of_a_budget() -> None:
    program = compile_expression(f"true || ({ENDLESS['loops in loops']})", DECLARED)
    assert program.evaluate({"x": X}, BUDGET)[0] is True
    program = compile_expression(f"({ENDLESS['loops in loops']}) || true", DECLARED)
    with pytest.raises(OverBudget):
        program.evaluate({"x": X}, BUDGET)


DEEP = {
    "brackets": "(" * 5000 + "1" + ")" * 5000,
    "lists": "[" * 5000 + "]" * 5000,
    "signs": "1" + " + 1" * 20_000,
    "choices": "true ? 1 : " * 5000 + "1",
    "fields": "x" + ".a" * 20_000,
    "calls": "x" + ".a()" * 10_000,
    "a long text": "'" + "a" * 200_000 + "'",
    "opened only": "(" * 90_000,
}


@pytest.mark.parametrize("case", DEEP)
def test_an_expression_that_is_too_deep_or_long_is_refused(case: str) -> None:
    with pytest.raises(NotAnExpression):
        compile_expression(DEEP[case], DECLARED)


def test_a_long_conjunction_is_not_deep() -> None:
    program = compile_expression(" && ".join(["x.items[0] == 0"] * 2000), DECLARED)
    assert program.evaluate({"x": X}, BUDGET)[0] is True


WORDS = st.sampled_from(
    [
        *("x", "self", "has", "all", "map", "filter", "size", "type", "in", "true", "null", "int"),
        *("(", ")", "[", "]", "{", "}", ".", ",", "?", ":", "+", "-", "*", "/", "%", "!", "=="),
        *("&&", "||", "<", ">=", "'a'", '"""', "b'x'", "r'\\'", "'\\x4'", "1", "2.5", "0x", "7u"),
        *("`a`", "optMap", "#", "\n", "ä", "\ud800", "items", "text", "format", "duration", "'%d'"),
    ]
)


@given(st.lists(WORDS, max_size=25).map(" ".join))
def test_any_words_come_to_a_value_or_a_reason(text: str) -> None:
    assert _told(text)


@given(st.text(max_size=40))
def test_any_text_comes_to_a_value_or_a_reason(text: str) -> None:
    assert _told(text)


def _told(text: str) -> str:
    """What becomes of a text: why it is no expression, why it has no value, or that it has one."""
    try:
        program = compile_expression(text, DECLARED)
    except (NotAnExpression, NotRunnable) as refused:
        return str(refused)
    return _ended(program)


def _ended(program: Program) -> str:
    try:
        return f"{program.evaluate({'x': X}, BUDGET)[1]} steps left"
    except (Failed, OverBudget) as fault:
        return str(fault)


OPERANDS = st.sampled_from(
    ["x", "x.items", "x.text", "x.map", "1", "-1", "2.5", "'a'", "null", "true", "[]", "{}", "b''"]
)
SHAPES = st.sampled_from(
    [
        *("({} + {})", "({} == {})", "({} in {})", "({} ? {} : {})", "{}.map(i, {})", "[{}, {}]"),
        *("{}.all(i, {} == i)", "size({})", "{}[{}]", "{{'k': {}}}", "({} && {})", "string({})"),
        *("{}.matches({})", "type({})", "({} < {})", "{}.?k.orValue({})", "dyn({})", "int({})"),
        *("{}.filter(i, {} == {})", "quantity({})", "duration({})", "{}.format([{}])", "!{}"),
        *("{}.sortBy(i, {})", "{}.transformMap(a, b, {})", "ip({})", "url({})", "{}.join({})"),
    ]
)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(OPERANDS)
    shape = draw(SHAPES)
    holes = shape.replace("{{", "").replace("}}", "").count("{}")
    return shape.format(*[draw(expressions(depth - 1)) for _ in range(holes)])


@given(expressions())
def test_any_expression_over_dynamic_values_comes_to_a_value_or_a_reason(text: str) -> None:
    wrapped = text.replace("'a'", "dyn('a')").replace("[]", "dyn([])")
    assert _told(text)
    assert _told(wrapped)
