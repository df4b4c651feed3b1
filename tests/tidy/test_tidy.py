"""The repository keeps the house rules, and each rule can be broken."""

import ast
from pathlib import Path

import pytest
from tidy_reach import KEPT, PROGRAMS, unreached
from tidy_rules import (
    CODE_RULES,
    dead_references,
    machine_paths,
    makefile_targets,
    missing_assertion,
    skip_without_reason,
)
from tidy_source import CODE, ROOT, Problem, Source, read_sources, tracked_files

FILES = tracked_files()
SOURCES = read_sources(FILES, *CODE)
TESTS = read_sources(FILES, "tests")
PAGES = {
    name: (ROOT / name).read_text()
    for name in FILES
    if name.endswith(".md") and name.count("/") <= 2
}
# What is recorded from others, or made by a tool, is as it is.
RECORDED = ("LICENSE", "tests/tidy/")


def report(problems: list[Problem]) -> str:
    return "\n" + "\n".join(str(problem) for problem in sorted(problems))


def check_rule(rule, sources: list[Source]) -> None:
    problems = [Problem(source.path, *found) for source in sources for found in rule(source)]
    assert not problems, report(problems)


def test_the_walk_sees_the_code_and_the_tests():
    assert {"atoll/effects.py", "simulation/loop.py"} <= {source.path for source in SOURCES}
    assert "tests/tidy/test_tidy.py" in {source.path for source in TESTS}


@pytest.mark.parametrize("rule", CODE_RULES, ids=lambda rule: rule.__name__)
def test_the_code_keeps_the_rule(rule):
    check_rule(rule, SOURCES)


def test_every_test_asserts_something():
    check_rule(missing_assertion, TESTS)


def test_every_test_that_is_skipped_says_why():
    check_rule(skip_without_reason, TESTS)


def test_everything_defined_is_reached_by_a_command():
    product = [source for source in SOURCES if source.under("atoll")]
    problems = list(unreached(product, PROGRAMS, KEPT))
    assert not problems, report(problems)


def test_the_scheduler_is_set_up_in_one_place():
    setting = "atoll.scheduling.setting.Setting"
    made = [
        source.path
        for source in SOURCES
        for call in source.each(ast.Call)
        if source.under("atoll") and source.dotted(call.func) == setting
    ]
    assert made == ["atoll/extensions.py"]


def test_the_documentation_names_only_what_exists():
    targets = makefile_targets((ROOT / "Makefile").read_text())
    assert {"demo", "test"} <= targets
    problems = list(dead_references(PAGES, FILES, targets))
    assert not problems, report(problems)


def test_nothing_committed_names_a_path_of_this_machine():
    problems: list[Problem] = []
    for name in FILES:
        if not name.startswith(RECORDED):
            problems += machine_paths(name, Path(ROOT / name).read_text(errors="replace"))
    assert not problems, report(problems)


LONG = "    x = 1\n"
BROKEN = {
    "function_length": ("atoll/a.py", f"def f():\n{LONG * 60}", f"def f():\n{LONG * 59}"),
    "file_length": ("atoll/a.py", "x = 1\n" * 501, "x = 1\n" * 500),
    "positional_parameters": (
        "atoll/a.py",
        "def f(a, b, c, d, e, f): ...",
        "class A:\n    def f(self, a, b, c, d, e, *, f): ...",
    ),
    "module_name": ("atoll/store/utils.py", "", ""),
    "unfinished": ("atoll/a.py", "x = 1  # TODO later", "todo = 1"),
    "module_docstring": ("atoll/a.py", "x = 1", '"""What comes in, what goes out."""'),
    "missing_assertion": (
        "tests/test_a.py",
        "def test_a():\n    f()",
        "def test_a():\n    check_f()\ndef test_b():\n    with pytest.raises(E):\n        f()",
    ),
}
# rule, path, bad line, good line
BROKEN_LINES = [
    ("task_calls", "atoll/a.py", "asyncio.gather(f())", "asyncio.sleep(1)"),
    ("task_calls", "atoll/a.py", "from asyncio import wait as w\nw(x)", "event.wait()"),
    ("task_calls", "atoll/a.py", "loop.create_task(f())", "children.spawn(f(), 'f')"),
    ("task_calls", "atoll/a.py", "f().create_task(g())", "f().g()"),
    ("task_calls", "atoll/a.py", "get().run_in_executor(f)", "store.write(f)"),
    ("clock_and_chance", "atoll/a.py", "import datetime as d\nd.datetime.now()", "effects.now()"),
    ("clock_and_chance", "atoll/a.py", "from datetime import datetime\ndatetime.utcnow()", "now()"),
    ("clock_and_chance", "atoll/a.py", "import time\ntime.monotonic()", "loop.time()"),
    ("clock_and_chance", "atoll/a.py", "from uuid import uuid4\nuuid4()", "chance.uuid('x')"),
    ("clock_and_chance", "atoll/a.py", "import random\nrandom.random()", "chance.of('x').random()"),
    ("clock_and_chance", "simulation/a.py", "import os\nos.urandom(8)", "os.getpid()"),
    ("swallowed_cancellation", "atoll/a.py", "try: f()\nexcept: g()", "try: f()\nexcept E: g()"),
    (
        "swallowed_cancellation",
        "atoll/runtime/a.py",
        "try: f()\nexcept (E, asyncio.CancelledError): g()",
        "try: f()\nexcept (E, F): g()",
    ),
    ("swallowed_cancellation", "atoll/a.py", "suppress(BaseException)", "suppress(OSError)"),
    ("unordered_iteration", "atoll/model/a.py", "for x in {1, 2}: f(x)", "for x in (1, 2): f(x)"),
    (
        "unordered_iteration",
        "atoll/model/a.py",
        "[x for x in set(y)]",
        "[x for x in sorted(set(y))]",
    ),
    ("unordered_iteration", "atoll/apiserver/kinds/a.py", "','.join(set(y))", "','.join(y)"),
    ("unordered_iteration", "atoll/model/a.py", "list({x for x in y})", "{x for x in y}"),
    ("printing", "atoll/store/a.py", "print(1)", "log.info(1)"),
    ("log_wording", "atoll/a.py", "log.info('At %s', url)", "log.info('At %(url)s', said)"),
    ("log_wording", "atoll/a.py", "log.error('it ended')", "log.error('It ended')"),
    ("log_wording", "atoll/a.py", "log.error('It ended.')", "log.error('It ended', {})"),
    ("skip_without_reason", "tests/test_a.py", "pytest.mark.skip", "pytest.mark.skip('no disk')"),
    (
        "skip_without_reason",
        "tests/test_a.py",
        "pytest.mark.skipif(x)",
        "pytest.mark.skipif(x, 'y')",
    ),
    ("skip_without_reason", "tests/test_a.py", "pytest.skip()", "pytest.skip('no disk')"),
    (
        "skip_without_reason",
        "tests/test_a.py",
        "pytest.mark.xfail(strict=True)",
        "pytest.mark.xfail(reason='upstream')",
    ),
]
EXAMPLES = [(rule, *example) for rule, example in BROKEN.items()] + BROKEN_LINES
RULES = {rule.__name__: rule for rule in (*CODE_RULES, missing_assertion, skip_without_reason)}


def test_every_rule_has_an_example_that_breaks_it():
    assert {example[0] for example in EXAMPLES} == set(RULES)


@pytest.mark.parametrize(("rule", "path", "bad", "good"), EXAMPLES)
def test_the_rule_finds_the_bad_and_lets_the_good_pass(rule, path, bad, good):
    assert len(list(RULES[rule](Source(path, bad)))) == 1
    good_path = "atoll/store/naming.py" if bad == good else path
    assert not list(RULES[rule](Source(good_path, good)))


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        pytest.param("task_calls", "atoll/runtime/a.py", "asyncio.create_task(f())", id="runtime"),
        pytest.param("task_calls", "atoll/store/a.py", "l.run_in_executor(None, f)", id="store"),
        pytest.param(
            "clock_and_chance", "atoll/effects.py", "import time\ntime.time()", id="effects"
        ),
        pytest.param("printing", "atoll/cli/a.py", "print(1)", id="cli"),
        pytest.param("unordered_iteration", "atoll/store/a.py", "list({1, 2})", id="not pure"),
    ],
)
def test_the_rule_knows_its_exceptions(rule, path, text):
    assert not list(RULES[rule](Source(path, text)))


PART = """
LIMIT, _MOST = 1, 2
PAUSE = 3
NAMED_BY_THE_UNREACHED = 4
def used(): ...
def recursive(): return recursive() + NAMED_BY_THE_UNREACHED
def same_name(): ...
def _private(): ...
class A:
    def dead(self): ...
    def called(self): ...
class Declared(Base):
    def by_whoever_has_declared_it(self): ...
def passed_on(): ...
"""
MAIN = """
from atoll import part
from atoll.part import used
from atoll.other import same_name
def main(it: "Given"):
    used(same_name(it.called(), part.A, part.LIMIT))
    module().passed_on(part.Declared)
class Given: ...
def module(): return part
"""
REACHING = [Source("atoll/part.py", PART), Source("atoll/main.py", MAIN)]
UNREACHED = [
    *("PAUSE", "NAMED_BY_THE_UNREACHED", "recursive", "same_name", "_private", "A.dead"),
]


def test_what_no_command_reaches_is_found():
    found = [problem.remedy for problem in unreached(REACHING, ["atoll.main.main"], {})]
    told = "no command reaches atoll.part.{}; connect it, or delete it"
    assert found == [told.format(name) for name in UNREACHED]


def test_an_exception_for_what_is_reached_is_found():
    kept = {f"atoll.part.{name}": "why" for name in UNREACHED}
    assert not list(unreached(REACHING, ["atoll.main.main"], kept))
    kept["atoll.part.A.called"] = "why"
    (problem,) = unreached(REACHING, ["atoll.main.main"], kept)
    assert problem.remedy == "atoll.part.A.called is reached, or gone; it needs no exception"


def test_a_dead_reference_is_found():
    pages = {
        "docs/A.md": "[b](B.md) [c](C.md) [up](../README.md)\n`atoll/a.py` `atoll/b.py` `x/y`\n"
        "make it so\n`make test` `make tea`\n    $ make cake"
    }
    files = ["docs/A.md", "docs/B.md", "README.md", "atoll/a.py"]
    assert [str(problem) for problem in dead_references(pages, files, {"test"})] == [
        "docs/A.md:1: docs/C.md does not exist; correct the name",
        "docs/A.md:2: atoll/b.py does not exist; correct the name",
        "docs/A.md:3: the Makefile has no target it",
        "docs/A.md:4: the Makefile has no target tea",
        "docs/A.md:5: the Makefile has no target cake",
    ]


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        pytest.param('open("/home/x")', True, id="home"),
        pytest.param("cp a /home/b", True, id="in a command"),
        pytest.param("pip install --index-url=x", True, id="a private index"),
        pytest.param("https://example.com/home/x", False, id="part of an address"),
        pytest.param("the home/x folder", False, id="relative"),
    ],
)
def test_a_path_of_this_machine_is_found(line, is_found):
    assert bool(list(machine_paths("a.md", line))) == is_found
