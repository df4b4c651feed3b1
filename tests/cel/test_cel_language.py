"""The language by its specification: what expressions come to, and what they refuse."""

from typing import Any

import pytest

from atoll.apiserver.cel.compiling import compile_expression, declare
from atoll.apiserver.cel.faults import Failed, NotAnExpression
from atoll.apiserver.cel.kinds import DYN

BUDGET = 100_000
X = {"a": [1, 2, 3], "b": {"c": "d", "n": None}, "t": True}


def value_of(text: str, **variables: Any) -> Any:
    given = {"x": X, **variables}
    program = compile_expression(text, declare(dict.fromkeys(given, DYN)))
    return program.evaluate(given, BUDGET)[0]


VALUES: dict[str, Any] = {
    # literals
    "42": 42,
    "0x2A": 42,
    "-0x2A": -42,
    "42u": 42,
    "1.5e3": 1500.0,
    ".5": 0.5,
    "1e-2": 0.01,
    "-9223372036854775808": -(2**63),
    "true && !false": True,
    "null": None,
    "'a\\n\\x41\\u0042\\U00000043\\101'": "a\nABCA",
    r"r'\d'": r"\d",
    "'''it's'''": "it's",
    '"""a\nb"""': "a\nb",
    "b'a\\xff'": b"a\xff",
    "b'ä'": "ä".encode(),
    "'a' // what follows is said to people": "a",
    # precedence
    "1 + 2 * 3 - 4 / 2 % 3": 5,
    "-2 + 1": -1,
    "- -2": 2,
    "!!true": True,
    "1 < 2 == true": True,
    "true ? 1 : false ? 2 : 3": 1,
    "false || true && false": False,
    "2 in [1, 2] && !('a' in {'b': 1})": True,
    # arithmetic
    "7 / -2": -3,
    "7 % -2": 1,
    "-7 % 2": -1,
    "1.0 / 0.0 > 1000.0": True,
    "'a' + 'b'": "ab",
    "[1] + [2]": [1, 2],
    "b'a' + b'b'": b"ab",
    "duration('1h') + duration('30m') == duration('5400s')": True,
    "string(timestamp('2024-01-01T00:00:00Z') - timestamp('2023-12-31T00:00:00Z'))": "86400s",
    # equality across types, and within
    "dyn(1) == dyn(1.0)": True,
    "dyn(1) == dyn(1u)": True,
    "dyn(1) == dyn('1')": False,
    "dyn(true) == dyn(1)": False,
    "[1, 2] == [1, 2] && [1, 2] != [2, 1]": True,
    "{'a': 1, 'b': 2} == {'b': 2, 'a': 1}": True,
    "dyn(1) < dyn(1.5)": True,
    "dyn([dyn(true)]) == dyn([dyn(1)])": False,
    # what is chosen, and what is there
    "x.a[2]": 3,
    "x['b'].c": "d",
    "has(x.b.c)": True,
    "has(x.b.zz)": False,
    "x.?b.?zz.orValue('none')": "none",
    "x.b[?'c'].value()": "d",
    "x.a[?7].hasValue()": False,
    "[?x.?zz, ?x.?t]": [True],
    "{?'k': x.?zz, 'l': 1}": {"l": 1},
    "optional.of(1).or(optional.of(2)).value()": 1,
    "optional.ofNonZeroValue('').hasValue()": False,
    "optional.none().optFlatMap(v, optional.of(v)).hasValue()": False,
    # loops
    "x.a.all(i, i > 0)": True,
    "x.a.exists(i, i > 2)": True,
    "x.a.exists_one(i, i > 1)": False,
    "x.a.filter(i, i > 1).map(i, i * i)": [4, 9],
    "x.a.map(i, i > 1, i)": [2, 3],
    "x.b.map(k, k)": ["c", "n"],
    "[[1, 2], [3]].map(l, l.map(x, x + 1))": [[2, 3], [4]],
    "x.a.map(x, x)": [1, 2, 3],
    "x.a.transformList(i, v, i * v)": [0, 2, 6],
    "{'a': 1}.transformMap(k, v, v + 1)": {"a": 2},
    "{'a': 'b'}.transformMapEntry(k, v, {v: k})": {"b": "a"},
    # errors that another part overcomes
    "1 / 0 == 1 || true": True,
    "true || 1 / 0 == 1": True,
    "1 / 0 == 1 && false": False,
    "[1, 0].all(i, 1 / i == 5)": False,
    "[0, 1].all(i, 1 / i == 5)": False,
    "[0, 1].exists(i, 1 / i == 1)": True,
    # types
    "type(1) == int && type(type(1)) == type": True,
    "type(x.a) == list && type(x.b) == map && type(null) == null_type": True,
    "type(timestamp('2024-01-01T00:00:00Z')) == google.protobuf.Timestamp": True,
    "int('-7') + int(2.9) + int(3u)": -2,
    "string(1.5) + string(true) + string(b'a') + string(7u)": "1.5truea7",
    "string(duration('1h30m'))": "5400s",
    "string(timestamp('2024-02-03T04:05:06.7+01:00'))": "2024-02-03T03:05:06.7Z",
    "double('1e3')": 1000.0,
    "timestamp('2024-02-29T00:00:00Z').getDayOfYear()": 59,
    "timestamp('2024-01-01T23:00:00Z').getDate('Europe/Berlin')": 2,
    "'%s %d %.2f %x'.format([[1, 2], 7, 1.005, 255])": "[1, 2] 7 1.00 ff",
    "'%b %% %s'.format([5, {'k': null}])": "101 % {k: null}",
}


@pytest.mark.parametrize("text", VALUES)
def test_an_expression_has_its_value(text: str) -> None:
    assert value_of(text) == VALUES[text]


FAILURES: dict[str, str] = {
    "9223372036854775807 + 1": "integer overflow",
    "-(-9223372036854775807 - 1)": "integer overflow",
    "0u - 1u": "unsigned integer overflow",
    "1 / 0": "division by zero",
    "1 % 0": "modulus by zero",
    "x.a[7]": "index out of bounds: 7",
    "x.zz": "no such key: zz",
    "x.t.zz": "no such overload",
    "x.a + 1": "no such overload",
    "x.t ? x.a.all(i, x.zz) : true": "no such key: zz",
    "[0, 1].all(i, 1 / i == 1)": "division by zero",
    "int(1e30)": "integer overflow",
    "bool('maybe')": "type conversion error from 'string' to 'bool'",
    "timestamp('9999-12-31T23:59:59Z') + duration('2s')": "timestamp overflow",
    "optional.none().value()": "optional.none() dereference",
    "{'a': 1, 'a': 2}": "Failed with repeated key a",
    "'abc'.substring(2, 1)": "invalid substring range. start: 2, end: 1",
    "x.a.map(i, i).min() + [].min()": "min called on empty list",
}


@pytest.mark.parametrize("text", FAILURES)
def test_an_expression_fails_with_a_reason(text: str) -> None:
    with pytest.raises(Failed) as failed:
        value_of(text)
    assert str(failed.value) == FAILURES[text]


def test_variables_of_loops_hide_others_only_inside() -> None:
    assert value_of("[1].map(x, x)[0] + x.a[0]") == 2
    assert value_of("y.map(y, y + 1)[0] + size(y)", y=[5]) == 7


def test_all_that_is_wrong_is_told_at_its_place() -> None:
    with pytest.raises(NotAnExpression) as refused:
        value_of("foo(1) ||\n bar == x")
    assert str(refused.value) == (
        "ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')\n"
        " | foo(1) ||\n"
        " | ...^\n"
        "ERROR: <input>:2:2: undeclared reference to 'bar' (in container '')\n"
        " |  bar == x\n"
        " | .^"
    )


def test_a_name_of_a_library_is_no_variable_without_a_call() -> None:
    with pytest.raises(NotAnExpression, match="undeclared reference to 'optional'"):
        value_of("optional")
