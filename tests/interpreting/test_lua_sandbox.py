"""What users' scripts can do in their worker processes, and what they cannot."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atoll.interpreting.asking import Known, Unanswered
from atoll.interpreting.customizing import Answer
from atoll.lua.pool import Pool
from atoll.lua.scripts import Scripts


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Workers that wait less long than usual."""
    with Pool(size=1, deadline_s=0.4) as workers:
        yield workers


def value(pool: Pool, body: str, *args: Any) -> Any:
    """What the body of a function gives first; it must not fail."""
    answer = pool.call(f"function F(a, b) {body} end", "F", args)
    assert not answer.error, answer.error
    return answer.values[0]


def problem(pool: Pool, body: str, *args: Any) -> Answer:
    """How the body of a function fails; the next script must not notice."""
    answer = pool.call(f"function F(a, b) {body} end", "F", args)
    assert answer.error
    assert answer.values == ()
    assert value(pool, "return a + 1", 1) == 2
    return answer


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("while true do end", id="a loop"),
        pytest.param("while true do pcall(function() while true do end end) end", id="pcall"),
        pytest.param("repeat until false", id="another loop"),
        pytest.param(
            "local s = '' for i = 1, 15 do s = s .. 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' end "
            "return s:find('.-.-.-.-.-.-.-.-.-.-.-.-b')",
            id="a pattern that backtracks",
        ),
        pytest.param("while true do pcall(error, 'x') end", id="errors caught for ever"),
        pytest.param(
            "local t = {} for i = 1, 200000 do t[i] = i end "
            "while true do table.sort(t, function(x, y) return x > y end) end",
            id="sorting",
        ),
    ],
)
def test_a_script_that_does_not_end_is_stopped(pool: Pool, body: str) -> None:
    answer = problem(pool, body)
    assert answer.stopped
    assert answer.error == "ran longer than 0.4 s and was stopped"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("local function f() return pcall(f) or f() end f()", id="through pcall"),
        pytest.param("local function f() local ok, e = pcall(f) return e end error(f())", id="all"),
        pytest.param("local function f() return 1 + f() end f()", id="plain"),
        pytest.param("local s = string.format('%1000s', '') return s:gsub('x', 'y')", id="gsub"),
    ],
)
def test_a_script_that_runs_too_deep_fails_alone(pool: Pool, body: str) -> None:
    assert problem(pool, body).error


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("local t = {} for i = 1, 1e9 do t[i] = {i} end", id="many tables"),
        pytest.param("local s = 'xxxxxxxx' while true do s = s .. s end", id="a long text"),
        pytest.param(
            "local t = {} local s = 'xxxxxxxx' "
            "while true do pcall(function() s = s .. s t[#t + 1] = s end) end",
            id="caught for ever",
        ),
        pytest.param(
            "local t = {} for i = 1, 40 do t = {t, t} end return t", id="few tables, many paths"
        ),
    ],
)
def test_a_script_that_eats_memory_is_stopped_or_told(pool: Pool, body: str) -> None:
    answer = problem(pool, body)
    assert answer.error in (
        "not enough memory",
        "ran longer than 0.4 s and was stopped",
        "broke the process it ran in (SIGABRT)",
    )


def test_an_answer_that_is_too_large_is_not_taken(pool: Pool) -> None:
    body = "local s = 'xxxxxxxx' for i = 1, 20 do s = s .. s end return s"
    assert problem(pool, body).error.endswith(" bytes of JSON; at most 8388608 are accepted")


@pytest.mark.parametrize(
    "name",
    [
        *("io", "debug", "package", "python", "coroutine", "gcinfo", "os.execute", "os.getenv"),
        *("os.exit", "os.remove", "os.tmpname", "os.clock", "math.nothing", "_G.io"),
    ],
)
def test_what_reaches_outside_does_not_exist(pool: Pool, name: str) -> None:
    assert value(pool, f"return {name} == nil") is True


@pytest.mark.parametrize(
    "name",
    [
        *("collectgarbage", "dofile", "getfenv", "getmetatable", "load", "loadfile"),
        *("loadstring", "rawequal", "rawget", "rawset", "setfenv", "setmetatable", "module"),
        *("newproxy", "string.dump", "string.gsub", "string.rep"),
    ],
)
def test_what_karmada_withholds_says_so(pool: Pool, name: str) -> None:
    found = problem(pool, f"local x = {name}('x') return x").error
    assert found == f"script:1: function {name} is not available to customizations"


@pytest.mark.parametrize("method", ["rep", "gsub", "dump"])
def test_what_is_withheld_is_not_found_by_the_back_door(pool: Pool, method: str) -> None:
    assert "not available" in problem(pool, f"local x = ('x'):{method}('y') return x").error


@pytest.mark.parametrize("module", ["io", "os.execute", "/etc/passwd", "debug", "ffi", "atoll"])
def test_only_modules_that_are_there_can_be_required(pool: Pool, module: str) -> None:
    assert "does not exist; there is kube" in problem(pool, f"local x = require('{module}')").error


@pytest.mark.parametrize(
    "reach", ["__globals__", "__class__", "__self__", "func_globals", "__code__"]
)
def test_python_is_out_of_reach(pool: Pool, reach: str) -> None:
    body = f"return require('kube').resourceAdd.{reach}"
    assert "attempt to index field 'resourceAdd'" in problem(pool, body).error
    caught = "local ok, e = pcall(require('kube').resourceAdd, 'bad') return type(e)"
    assert value(pool, caught) == "string"


def test_printing_goes_nowhere_and_breaks_nothing(pool: Pool) -> None:
    assert value(pool, "print('to the channel', 1, {}) return 7") == 7


def test_calls_leave_nothing_behind(pool: Pool) -> None:
    counting = "seen = (seen or 0) + 1 string.len = nil _G.pairs = nil return seen"
    assert [value(pool, counting) for _ in range(3)] == [1, 1, 1]
    assert value(pool, "return string.len('abc')") == 3
    assert value(pool, "local n = 0 for _ in pairs({1, 2}) do n = n + 1 end return n") == 2


def test_errors_say_the_line(pool: Pool) -> None:
    script = "function F(a)\n  local b = a.spec\n  return b.replicas\nend"
    found = pool.call(script, "F", ({},)).error
    assert found == "script:3: attempt to index local 'b' (a nil value)"
    assert pool.call("x = = 1", "F", None).error == "script:1: unexpected symbol near '='"
    assert pool.call("function F() end", "F", None) == Answer()
    assert pool.call("function F() end", "G", ()).error == "does not define the function G"
    assert pool.call("F = 3", "F", ()).error == "does not define the function F"
    assert pool.call("error('at once')", "F", ()).error == "script:1: at once"
    assert "failed with a table" in problem(pool, "error({})").error


def test_compiled_lua_is_refused(pool: Pool) -> None:
    assert "compiled Lua" in pool.call("\x1bLua\x51", "", ()).error


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return F", "result 1 is a function; only data can be an answer"),
        ("return {x = {y = print}}", "result 1.x.y is a function; only data can be an answer"),
        ("return 0/0", "result 1 is nan, which is no number for JSON"),
        ("return {1, nil, 3}", "either names or the numbers"),
        ("return {1, x = 3}", "either names or the numbers"),
        ("return '\\255'", "gave text that is not UTF-8"),
        ("local t = {} t.t = t return t", "has tables deeper than 200 levels or in a circle"),
    ],
)
def test_what_is_no_data_is_no_answer(pool: Pool, body: str, said: str) -> None:
    assert said in problem(pool, body).error


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"a": [1, 2.5, "x", True], "b": {"c": "ü\u0000€"}}, id="plain"),
        pytest.param({"1": "a", "2": "b"}, id="names that look like numbers"),
        pytest.param([{"a": 1}, {"a": 1}], id="the same twice"),
        pytest.param(2**53, id="the largest exact number"),
        pytest.param(-1.5e300, id="a large number"),
    ],
)
def test_data_comes_back_as_it_went(pool: Pool, given: Any) -> None:
    assert value(pool, "return a", given) == given


def test_what_lua_cannot_keep_is_as_in_karmada(pool: Pool) -> None:
    given, kept = {"a": None, "b": {}, "c": [], "d": 3.0}, {"b": [], "c": [], "d": 3}
    assert value(pool, "return a", given) == kept
    assert value(pool, "return #a", [1, None, 2]) == 2


def test_an_object_of_a_megabyte_passes(pool: Pool) -> None:
    given = {"data": {f"key-{number}": "x" * 1000 for number in range(1000)}}
    with Pool(size=1) as patient:
        assert value(patient, "a.data['key-7'] = 'y' return a", given)["data"]["key-7"] == "y"


POD = {
    "spec": {
        "containers": [
            {"name": "a", "resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}},
            {"name": "b", "resources": {"limits": {"cpu": "1"}}, "ports": []},
        ],
        "volumes": [{"name": "v", "secret": {"secretName": "s"}}, {"configMap": {"name": "c"}}],
        "nodeSelector": {"disk": "ssd"},
    }
}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("kube.resourceAdd('100m', '2', nil)", "2100m"),
        ("kube.resourceAdd('1Gi', '512Mi')", "1536Mi"),
        ("kube.resourceAdd('0', '1Ki')", "1Ki"),
        ("kube.resourceAdd('500m', '500m')", "1"),
        ("kube.resourceAdd('1k', '1Ki')", "2024"),
        ("kube.resourceAdd('1Ki', '1k')", "2024"),
        ("kube.resourceAdd()", "0"),
        ("kube.resourceAdd('1', '-1500m')", "-500m"),
        ("kube.resourceAdd('512', '256Mi', nil)", "268435968"),
        ("kube.getResourceQuantity('1.5Gi')", 1610612736),
        ("kube.getResourceQuantity('250m')", 0.25),
        ("kube.getResourceQuantity(nil)", 0),
        (
            "kube.accuratePodRequirements(a)",
            {
                "nodeClaim": {"nodeSelector": {"disk": "ssd"}},
                "resourceRequest": {"cpu": "1250m", "memory": "1Gi"},
            },
        ),
        ("kube.accuratePodRequirements({})", None),
        (
            "kube.getPodDependencies(a, 'shop')",
            [
                {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "c"},
                {"apiVersion": "v1", "kind": "Secret", "namespace": "shop", "name": "s"},
            ],
        ),
        ("kube.getPodDependencies(a, nil)[1].namespace", "default"),
    ],
)
def test_kube_answers(pool: Pool, expression: str, expected: Any) -> None:
    assert value(pool, f"local kube = require('kube') return {expression}", POD) == expected


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("kube.resourceAdd('1x')", "argument 1: '1x': is no quantity"),
        ("kube.resourceAdd('1', {})", "argument 2: []: must be a quantity as text"),
        ("kube.resourceAdd(1)", "argument 1: 1: must be a quantity as text"),
        ("kube.getResourceQuantity('-1')", "must not be negative"),
        ("kube.getResourceQuantity()", "takes one argument"),
        ("kube.accuratePodRequirements()", "takes one argument"),
        ("kube.accuratePodRequirements('x')", "must be an object"),
        ("kube.accuratePodRequirements({spec = {containers = 'x'}})", "must be a list"),
        ("kube.getPodDependencies({})", "takes two arguments"),
        ("kube.getPodDependencies({}, {})", "must be text"),
        ("kube.resourceAdd(print)", "argument is a function"),
    ],
)
def test_kube_says_what_it_cannot_take(pool: Pool, expression: str, said: str) -> None:
    body = f"local kube = require('kube') local x = {expression} return x"
    found = problem(pool, body).error
    assert said in found
    assert found.startswith("script:1: ")


def test_a_worker_that_is_lost_is_replaced() -> None:
    others = children_of(os.getpid())
    with Pool(size=1) as workers:
        assert value(workers, "return 1") == 1
        (worker,) = children_of(os.getpid()) - others
        (child,) = children_of(worker)
        os.kill(child, 9)
        assert workers.call("function F() end", "F", ()).stopped
        assert value(workers, "return 2") == 2
        os.kill(worker, 9)
        assert workers.call("function F() end", "F", ()).error == "lost the process it ran in"
        assert value(workers, "return 3") == 3
        assert len(children_of(os.getpid()) - others) == 1
    assert children_of(os.getpid()) == others


PROGRAM = """
from atoll.lua.pool import Pool
pool = Pool(size=1)
pool.call("function F() end", "F", ())
print("ready", flush=True)
pool.call("function F() while true do end end", "F", ())
"""


def test_workers_do_not_outlive_whoever_asks() -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], **pipes, text=True) as asking:
        assert asking.stdout.readline() == "ready\n"
        (worker,) = children_of(asking.pid)
        assert len(children_of(worker)) == 1
        asking.kill()
        # Ends when the last process that could write to it has ended.
        assert asking.stderr.read() == ""
    assert not Path(f"/proc/{worker}").exists() or not children_of(worker)


def children_of(parent: int) -> set[int]:
    """The workers that a process has started and that are alive."""
    found = set()
    for each in Path("/proc").iterdir():
        try:
            after = (each / "stat").read_text().rpartition(")")[2].split()
            command = (each / "cmdline").read_text()
        except OSError:
            continue
        if int(after[1]) == parent and after[0] != "Z" and "atoll.lua.worker" in command:
            found.add(int(each.name))
    return found


def test_scripts_see_neither_our_files_nor_our_environment() -> None:
    others = children_of(os.getpid())
    with Pool(size=1) as workers:
        assert value(workers, "return 1") == 1
        (worker,) = children_of(os.getpid()) - others
        (child,) = children_of(worker)
        environment = Path(f"/proc/{child}/environ").read_text()
        assert [each.partition("=")[0] for each in environment.split("\0") if each] == [
            "PYTHONPATH"
        ]
        limits = Path(f"/proc/{child}/limits").read_text()
        assert "Max open files            0                    0" in limits
        assert "Max file size             0                    0" in limits
        assert len(list(Path(f"/proc/{child}/fd").iterdir())) == 4


def test_others_run_while_a_script_is_waited_for() -> None:
    async def both() -> list[str]:
        ended: list[str] = []

        async def ask(name: str, body: str) -> None:
            answer = await workers.ask(f"function F() {body} end", "F", ())
            ended.append(f"{name}: {answer.error or answer.values[0]}")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ask("slow", "while true do end"))
            tasks.create_task(ask("quick", "return 1"))
        await ask("again", "return 2")
        return ended

    with Pool(size=2, deadline_s=0.4) as workers:
        assert value(workers, "return 0") == 0
        stopped = "slow: ran longer than 0.4 s and was stopped"
        ended = asyncio.run(both())
    assert sorted(ended[:2]) == ["quick: 1", stopped]
    assert ended[2] == "again: 2"


def test_who_stops_waiting_gives_up_the_worker() -> None:
    async def impatient() -> None:
        async with asyncio.timeout(0.05):
            await workers.ask("function F() while true do end end", "F", ())

    with Pool(size=1, deadline_s=0.4) as workers:
        with pytest.raises(TimeoutError):
            asyncio.run(impatient())
        assert value(workers, "return 1") == 1


def found_out(scripts: Scripts, script: str, *args: Any) -> tuple[Answer, list[Known]]:
    """What F of a script gives, found out as often as is needed, and what is held for it."""

    async def asked() -> tuple[Answer, list[Known]]:
        held: list[Known] = []
        while True:
            try:
                return scripts.run(script, "F", args), held
            except Unanswered as question:
                assert len(held) < 3, "an answer that is held must be known"
                held.append(await question.find_out())

    return asyncio.run(asked())


def test_scripts_are_asked_once_unless_they_ask_for_time_or_chance(pool: Pool) -> None:
    scripts = Scripts(pool)
    script = "function F(a) return a.x, {} end"
    first, held = found_out(scripts, script, {"x": 1, "y": 2})
    assert (first, len(held)) == (Answer((1, [])), 1)
    assert found_out(scripts, script, {"y": 2, "x": 1}) == (first, [])
    assert len(found_out(scripts, script, {"x": 3})[1]) == 1
    changing = "function F() return os.time() > 0 end"
    for _ in range(2):
        assert len(found_out(scripts, changing)[1]) == 1


def test_a_script_that_is_stopped_is_worth_another_try_later(pool: Pool) -> None:
    scripts = Scripts(pool)
    for _ in range(2):
        answer, held = found_out(scripts, "function F() while true do end end")
        assert answer.error == "ran longer than 0.4 s and was stopped"
        assert held.pop().again_in
    answer, held = found_out(scripts, "function F() error('no') end")
    assert "no" in answer.error
    assert held[0].again_in is None
