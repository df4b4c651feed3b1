"""Users' plug-ins, through real entry points of real distributions on the import path."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from builders import DEPLOYMENT, make_binding, make_cluster, placed

from atoll.errors import UsageError
from atoll.extensions import load, plugins
from atoll.model.binding import Resource
from atoll.model.intent import Constrained, Constraint, Field
from atoll.scheduling.cycle import decide
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugins import DEFAULT
from atoll.scheduling.setting import Setting

Install = Callable[..., None]

ROOT = Path(__file__).parents[2]
EXAMPLE, HOWTO = ROOT / "examples" / "plugin", ROOT / "docs" / "howto" / "add-a-plugin.md"
ONE_CLUSTER = {"selection": Constrained(), "spread": (Constraint(Field.CLUSTER, most=1),)}
FLEET = Fleet.of([make_cluster("a"), make_cluster("b", labels={"power": "green"})])
TOOLS = """
import numpy as np
from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Assignment, Refusal
from atoll.scheduling.verdicts import Verdicts

class Compiled:
    def __init__(self, operation):
        self.operation = operation
    def compile(self, question):
        return self.operation

class Rule:
    def __init__(self, admits):
        self.admits = admits
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution on the import path: its source, and its entry points by group."""

    def put(source: str, name: str = "mine", **entries: str) -> None:
        folder = tmp_path / name
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"{name}.py").write_text(TOOLS + source)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        groups = (f"[atoll.{group}]\n{lines}\n" for group, lines in entries.items())
        (info / "entry_points.txt").write_text("\n".join(groups))
        monkeypatch.syspath_prepend(str(folder))

    yield put
    for each in tmp_path.iterdir():
        sys.modules.pop(each.name, None)


@pytest.mark.parametrize(
    ("group", "source", "usual", "expected"),
    [
        pytest.param(
            "filters",
            "M = Compiled(lambda fleet: Verdicts(np.array([1, 0], np.uint16), ('no',)))",
            {"a": 2, "b": 2},
            {"b": 2},
            id="a-filter-on-columns",
        ),
        pytest.param(
            "filters",
            "M = Rule(lambda binding, cluster: 'no' if cluster.name == 'a' else None)",
            {"a": 2, "b": 2},
            {"b": 2},
            id="a-filter-for-one-cluster",
        ),
        pytest.param(
            "filters",
            "class M:\n    def admits(self, binding, cluster):\n        return 'no'",
            {"a": 2, "b": 2},
            "0/2 clusters are available: 2 no.",
            id="a-class-is-made-into-a-plug-in",
        ),
        pytest.param(
            "filters",
            "def M():\n    return Rule(lambda binding, cluster: 'no')",
            {"a": 2, "b": 2},
            "0/2 clusters are available: 2 no.",
            id="a-function-makes-the-plug-in",
        ),
        pytest.param(
            "scores",
            "M = Compiled(lambda fleet: np.array([1, 5]))",
            {"a": 2},
            {"b": 2},
            id="a-score-on-columns",
        ),
        pytest.param(
            "scores",
            "class M:\n    def score(self, binding, cluster):\n        return ord(cluster.name)",
            {"a": 2},
            {"b": 2},
            id="a-score-for-one-cluster",
        ),
        pytest.param(
            "selections",
            "M = Compiled(lambda candidates, fleet: candidates.at(np.array([1])))",
            {"a": 2},
            {"b": 2},
            id="a-selection-comes-before-ours",
        ),
        pytest.param(
            "divisions",
            "M = Compiled(lambda share, fleet: Assignment(share.selected.rows, np.array([7])))",
            {"a": 2},
            {"a": 7},
            id="a-division-comes-before-ours",
        ),
        pytest.param(
            "selections",
            "M = Compiled(lambda c, fleet: Refusal(Verdict.UNSCHEDULABLE, 'not today'))",
            {"a": 2},
            "failed to select clusters: not today",
            id="a-refusal-is-told",
        ),
    ],
)
def test_an_installed_plugin_takes_part(
    install: Install, group: str, source: str, usual: dict[str, int], expected: object
) -> None:
    install(source, **{group: "Mine = mine:M"})
    binding = make_binding(2, wanting={} if group == "filters" else ONE_CLUSTER)
    assert placed(decide(binding, FLEET)) == usual
    decision = decide(binding, FLEET, Setting(plugins=plugins()))
    assert (placed(decision) if decision.ok else decision.message) == expected
    without = decide(binding, FLEET, Setting(plugins=plugins("*,-Mine")))
    assert placed(without) == usual


def test_plugins_are_asked_in_the_order_of_their_names(install: Install) -> None:
    rule = "M = Rule(lambda binding, cluster: None)"
    install(rule, "one", filters="Zebra = one:M\nApe = one:M")
    install(rule, "two", filters="Lion = two:M")
    own = [each.name for each in DEFAULT.filters]
    assert [each.name for each in plugins().filters] == [*own, "Ape", "Lion", "Zebra"]


def test_what_a_filter_says_of_itself_is_kept(install: Install) -> None:
    install(
        "class M:\n    spares_placed = False\n    shared = True\n"
        "    def admits(self, binding, cluster):\n        return None",
        filters="Mine = mine:M",
    )
    mine = plugins().filters[-1]
    assert (mine.name, mine.spares_placed, mine.shared) == ("Mine", False, True)


@pytest.mark.parametrize(
    ("group", "entry", "source", "problem"),
    [
        pytest.param(
            "filters",
            "Mine = nowhere:M",
            "",
            "nowhere:M cannot be loaded: ModuleNotFoundError",
            id="no-such-module",
        ),
        pytest.param(
            "filters",
            "Mine = mine:M",
            "",
            "mine:M cannot be loaded: AttributeError: module ",
            id="no-such-object",
        ),
        pytest.param(
            "filters",
            "Mine = mine:M",
            "1 / 0",
            "mine:M cannot be loaded: ZeroDivisionError: ",
            id="the-module-breaks",
        ),
        pytest.param(
            "filters",
            "Mine = mine:M",
            "def M(x): ...",
            "mine:M cannot be loaded: TypeError: M() ",
            id="the-factory-wants-arguments",
        ),
        pytest.param(
            "filters",
            "Mine = mine:M",
            "M = 3",
            "mine:M must have the method `compile` or `admits`; it is 3",
            id="not-a-plug-in",
        ),
        pytest.param(
            "selections",
            "Mine = mine:M",
            "M = Rule(lambda binding, cluster: None)",
            "mine:M must have the method `compile`; it is <mine.Rule ",
            id="a-filter-among-the-selections",
        ),
        pytest.param(
            "filters",
            "Mine = mine:M",
            "M = Compiled(None)\nM.shared = 'yes'",
            "mine:M has a flag `shared` that must be True or False; it is 'yes'",
            id="a-flag-that-is-none",
        ),
        pytest.param(
            "filters",
            "TaintToleration = mine:M",
            "M = Compiled(None)",
            "Atoll itself has a plug-in of this name; choose another",
            id="one-of-ours-has-the-name",
        ),
        pytest.param(
            "filters",
            "- = mine:M",
            "M = Compiled(None)",
            "its name must be made of letters, digits, '_', '.' and '-'",
            id="a-name-that-cannot-be-written-in-a-list",
        ),
        pytest.param(
            "filter",
            "Mine = mine:M",
            "M = Compiled(None)",
            "there is no such group; known: atoll.filters, atoll.scores, ",
            id="a-group-that-nobody-reads",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_where_it_came_from(
    install: Install, group: str, entry: str, source: str, problem: str
) -> None:
    install(source, **{group: entry})
    name = entry.partition(" ")[0]
    wanted = f"entry point '{name}' in atoll.{group} of mine 1.0: {problem}"
    with pytest.raises(UsageError, match=f"^{re.escape(wanted)}"):
        plugins()


def test_what_is_broken_can_be_switched_off_and_that_is_said(install: Install) -> None:
    install("1 / 0", filters="Mine = mine:M")
    remedy = "mend it, uninstall it, or switch it off with --plugins=*,-Mine"
    with pytest.raises(UsageError, match=f"{re.escape(remedy)}$"):
        plugins()
    assert plugins("*,-Mine").names == DEFAULT.names


def test_two_distributions_with_one_name_are_both_named(install: Install) -> None:
    install("M = Compiled(None)", "one", filters="Mine = one:M")
    install("M = Compiled(None)", "two", scores="Mine = two:M")
    with pytest.raises(UsageError, match=r"of two 1\.0: one 1\.0 has a plug-in of this name"):
        plugins()


def test_an_entry_point_without_a_distribution_is_refused_too() -> None:
    entry = EntryPoint("Mine", "nowhere:M", "atoll.scores")
    with pytest.raises(UsageError, match="of an unknown distribution: nowhere:M cannot be loaded"):
        load([entry])


def test_a_plugin_that_fails_to_compile_refuses_the_decision(install: Install) -> None:
    install("class M:\n    def compile(self, question):\n        1 / 0", scores="Mine = mine:M")
    decision = decide(make_binding(2), FLEET, Setting(plugins=plugins()))
    assert decision.message == "plug-in Mine failed: ZeroDivisionError: division by zero"


def test_the_example_is_built_installed_and_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=EXAMPLE, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    monkeypatch.syspath_prepend(str(wheel))
    fleet = Fleet.of(
        [
            make_cluster("a", labels={"maintenance": "planned"}),
            make_cluster("b", labels={"tenant": "eu-shop"}, region="eu"),
            make_cluster("c", labels={"tenant": "else"}),
            make_cluster("d"),
            make_cluster("e", labels={"power": "green"}),
        ]
    )
    setting = Setting(plugins=plugins())
    binding = replace(make_binding(), resource=Resource(DEPLOYMENT, "eu-shop", "web"))
    assert list(placed(decide(binding, fleet, setting))) == ["e", "b", "d"]
    urgent = replace(binding, priority=1)
    assert list(placed(decide(urgent, fleet, setting))) == ["b", "d", "e"]
    lenient = Setting(plugins=plugins("*,-Tenants"))
    assert list(placed(decide(binding, fleet, lenient))) == ["e", "b", "c", "d"]


def test_the_how_to_shows_the_example_as_it_is() -> None:
    shown = re.findall(r"```(\w+)\n(.*?)```", HOWTO.read_text(), flags=re.DOTALL)
    files = {"python": EXAMPLE / "house_rules.py", "toml": EXAMPLE / "pyproject.toml"}
    assert {language for language, _ in shown} == {*files, "text"}
    for language, block in shown:
        if language in files:
            assert block in files[language].read_text()
