"""What people read of a running plane: get, top, why, demo; in words, and as data for programs."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import click
import pytest
import yaml
from click.shell_completion import ShellComplete
from running import Result, Shell

from atoll.cli.app import COMMANDS, app, run

HYBRID = ["ali-hz", "aws-use1", "azr-weu", "idc-bj", "idc-sh"]
DEMOS = Path(__file__).parents[2] / "atoll" / "cli" / "demos"


class Here(Shell):
    """A user whose commands run in this process: there are many, and starting takes long."""

    def atoll(self, *words: str, timeout: float = 60) -> Result:
        if words[0] in ("up", "down"):
            return super().atoll(*words, timeout=timeout)
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(err):
            patched.setattr(os, "environ", self.env())
            code = run(list(words))
        return Result(code, *(each.buffer.getvalue().decode() for each in (out, err)))


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A plane with five simulated clusters, and the workload of `atoll demo web` in them."""
    user = Here(tmp_path_factory.mktemp("home"))
    user.up("--fleet", "hybrid")
    told = user.atoll("demo", "web")
    assert told.code == 0, told.err
    yield user
    user.clean_up()


def lines(result: Result) -> list[list[str]]:
    assert result.code == 0, result.err
    return [line.split() for line in result.out.splitlines()]


class TestDemo:
    def test_shows_the_yaml_it_applies_and_where_things_went(self, hybrid: Shell) -> None:
        again = hybrid.atoll("demo", "web")
        assert again.out.startswith((DEMOS / "web.yaml").read_text())
        assert "deployment.apps/web configured" in again.out
        last = again.out.splitlines()[-3:]
        placed = dict(each.split(" ") for each in last[0].partition("      ")[0].split(" · "))
        assert sum(map(int, placed.values())) == 12
        assert "azr-weu" not in placed
        assert "/h (≈" in last[0]
        assert last[1].startswith("Next: atoll why deploy/web -n shop")

    @pytest.mark.parametrize("name", [each.stem for each in DEMOS.iterdir()])
    def test_without_applying_it_is_what_kubectl_could_apply(
        self, name: str, hybrid: Shell
    ) -> None:
        shown = hybrid.atoll("demo", name, "--dry-run=client").out
        assert len(list(yaml.safe_load_all(shown))) >= 3

    def test_touches_no_namespace_that_is_not_a_demos(self, hybrid: Shell) -> None:
        hybrid.request("POST", "/api/v1/namespaces", {"metadata": {"name": "render"}})
        for words in ([], ["--cleanup"]):
            told = hybrid.atoll("demo", "burst", *words)
            assert (told.code, told.out) == (1, "")
            assert 'the namespace "render" is there already, and no demo has made it' in told.err
        hybrid.request("DELETE", "/api/v1/namespaces/render")

    def test_lets_nothing_fail_that_is_not_simulated(self, hybrid: Shell) -> None:
        named = hybrid.atoll("kubeconfig", "path").out.strip()
        told = hybrid.atoll("demo", "failover", "--kubeconfig", named)
        assert (told.code, told.out) == (1, "")
        assert told.err.startswith("error: this demo lets a simulated cluster fail, and here are")

    def test_every_ordinal_of_a_split_set_is_in_one_cluster(self, hybrid: Shell) -> None:
        told = hybrid.atoll("demo", "stateful")
        assert told.code == 0, told.err
        runs = [re.findall(r"db-(\d+)", each) for each in told.out.splitlines() if ": db-" in each]
        ordinals = [n for run in runs for n in range(int(run[0]), int(run[-1]) + 1)]
        assert (len(runs), ordinals) == (2, list(range(6)))
        removed = hybrid.atoll("demo", "stateful", "--cleanup")
        assert removed.out.split() == [
            *("propagationpolicy.policy.karmada.io/db", "deleted"),
            *("statefulset.apps/db", "deleted"),
            *("namespace/data", "deleted"),
        ]
        again = hybrid.atoll("demo", "stateful", "--cleanup")
        assert (again.code, again.out, again.err) == (0, "", "There was nothing to remove\n")


@pytest.mark.parametrize("words", [["top"], ["demo", "web"], ["get", "pods", "-s", "all"]])
def test_a_server_that_is_no_plane_is_told_from_one(words: list[str], hybrid: Shell) -> None:
    member = hybrid.atoll("kubeconfig", "path", "--cluster", "idc-bj").out.strip()
    told = hybrid.atoll(*words, "--kubeconfig", member)
    assert (told.code, told.out) == (1, "")
    assert "is no plane, as it knows no Clusters; name one with --kubeconfig" in told.err


class TestGet:
    def test_shows_what_the_server_lays_out(self, hybrid: Shell) -> None:
        found = lines(hybrid.atoll("get", "clusters"))
        assert found[0] == ["NAME", "VERSION", "MODE", "READY", "AGE"]
        assert [each[0] for each in found[1:]] == HYBRID
        wide = lines(hybrid.atoll("get", "cluster", "idc-bj", "-o", "wide"))
        assert "PROVIDER" in wide[0]
        assert "onprem" in wide[1]

    @pytest.mark.parametrize("word", ["deploy", "deployment", "deployments.apps", "Deployment"])
    def test_knows_kinds_by_all_their_names(self, word: str, hybrid: Shell) -> None:
        assert hybrid.atoll("get", word, "-n", "shop", "-o", "name").out == "deployment.apps/web\n"

    def test_shows_several_kinds_with_their_names(self, hybrid: Shell) -> None:
        found = hybrid.atoll("get", "deploy,rb", "-A")
        assert [each[:2] for each in lines(found)] == [
            ["NAMESPACE", "NAME"],
            ["shop", "deployment.apps/web"],
            [],
            ["NAMESPACE", "NAME"],
            ["shop", "resourcebinding.work.karmada.io/web-deployment"],
        ]

    def test_shows_plane_and_members_in_one_table(self, hybrid: Shell) -> None:
        head, plane, *members = lines(hybrid.atoll("get", "deploy/web", "-n", "shop", "-s", "all"))
        assert (head[:2], head[-1]) == (["NAME", "CLUSTER"], "ADOPTION")
        assert (plane[:3], plane[-1]) == (["web", "(control)", "12/12"], "-")
        assert {each[-1] for each in members} == {"Y"}
        assert sum(int(each[2].split("/")[0]) for each in members) == 12

    def test_chooses_members_by_name_pattern_and_field(self, hybrid: Shell) -> None:
        words = ["get", "nodes", "-o", "json"]
        marked = "resource.karmada.io/cached-from-cluster"

        def places(chosen: str) -> set[str]:
            items = hybrid.atoll(*words, "-C", chosen).json["items"]
            return {each["metadata"]["annotations"][marked] for each in items}

        assert places("idc-bj") == {"idc-bj"}
        assert places("idc-*,ali-hz") == {"idc-bj", "idc-sh", "ali-hz"}
        assert places("region=cn-east") == {"idc-sh", "ali-hz"}

    def test_what_one_member_cannot_say_is_told_beside_what_others_say(self, hybrid: Shell) -> None:
        assert hybrid.atoll("chaos", "kill", "azr-weu").code == 0
        try:
            found = hybrid.atoll("get", "nodes", "-C", "a*", "-o", "name")
        finally:
            assert hybrid.atoll("chaos", "heal", "azr-weu").code == 0
        assert (found.code, len(found.out.split())) == (1, 20)
        assert found.err.startswith("error: cluster azr-weu: ")
        assert len(found.err.splitlines()) == 1

    def test_gives_programs_what_the_server_has(self, hybrid: Shell) -> None:
        one = hybrid.atoll("get", "deploy/web", "-n", "shop", "-o", "json").json
        assert (one["kind"], one["spec"]["replicas"]) == ("Deployment", 12)
        assert "managedFields" not in one["metadata"]
        written = yaml.safe_load(hybrid.atoll("get", "clusters", "-o", "yaml").out)
        assert written["kind"] == "List"
        assert [each["metadata"]["name"] for each in written["items"]] == HYBRID

    @pytest.mark.parametrize(
        ("words", "code", "error"),
        [
            pytest.param(["flub"], 2, 'there is no kind "flub"', id="kind"),
            pytest.param(["deplyment"], 2, 'did you mean "deployment"? try: atoll', id="typo"),
            pytest.param(["cm", "x"], 1, 'configmaps "x" not found in namespace', id="name"),
            pytest.param(["pods", "-C", "idcbj"], 1, 'did you mean "idc-bj"?', id="cluster"),
            pytest.param(["pods", "-C", "x=y"], 1, 'no cluster is "x=y"', id="no-label"),
            pytest.param(["pods", "-C", "a", "-s", "karmada"], 2, "-C is about mem", id="scope"),
            pytest.param(["deploy/a", "b"], 2, "give TYPE and names, or", id="mixed"),
            pytest.param(["deploy,pods", "a"], 2, "names are of one kind", id="several"),
        ],
    )
    def test_says_in_one_line_what_is_wrong(
        self, words: list[str], code: int, error: str, hybrid: Shell
    ) -> None:
        result = hybrid.atoll("get", *words)
        assert (result.code, result.out) == (code, "")
        assert error in result.err
        assert len(result.err.splitlines()) == 1

    def test_what_need_not_be_there_is_no_error(self, hybrid: Shell) -> None:
        result = hybrid.atoll("get", "cm", "x", "--ignore-not-found")
        assert (result.code, result.out, result.err) == (0, "", "")
        nothing = hybrid.atoll("get", "cm", "-l", "a=b")
        assert (nothing.code, nothing.err) == (0, "No resources found in default namespace.\n")

    def test_goes_on_showing_what_changes(self, hybrid: Shell) -> None:
        command = [sys.executable, "-m", "atoll", "get", "configmaps", "-n", "shop", "-w"]
        command += ["-l", "by=us"]
        marked = {"labels": {"by": "us"}}
        one = {"metadata": {"name": "one", **marked}}
        hybrid.request("POST", "/api/v1/namespaces/shop/configmaps", one)
        watching = subprocess.Popen(command, env=hybrid.env(), stdout=subprocess.PIPE, text=True)
        assert watching.stdout is not None
        try:
            assert watching.stdout.readline().split() == ["NAME", "DATA", "AGE"]
            assert watching.stdout.readline().split()[0] == "one"
            path = "/api/v1/namespaces/shop/configmaps"
            two = {"metadata": {"name": "two", **marked}, "data": {"a": "b"}}
            hybrid.request("POST", path, two)
            assert watching.stdout.readline().split()[:2] == ["two", "1"]
        finally:
            watching.kill()
            watching.communicate()


def test_bars_and_signs_have_plain_stand_ins(hybrid: Shell) -> None:
    plain = Shell(hybrid.home, {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"})
    told = plain.atoll("why", "deploy/web", "-n", "shop", "--no-changes")
    assert "12 replicas x (2 CPU, 4Gi)" in told.out
    assert "####" in told.out
    assert "?" not in told.out


class TestTop:
    def test_shows_how_full_clusters_are(self, hybrid: Shell) -> None:
        found = lines(hybrid.atoll("top"))
        assert found[0] == [
            *("CLUSTER", "PROVIDER", "REGION", "READY", "NODES", "CPU-REQ", "FILL", "MEM%"),
            *("PRICE/CORE-H", "FREE-FITS*", "TAINTS"),
        ]
        rows = {each[0]: each for each in found[1:-1]}
        assert list(rows) == HYBRID
        assert rows["azr-weu"][-1] == "maintenance:NoSchedule"
        assert rows["idc-bj"][3:5] == ["True", "20"]
        assert rows["idc-bj"][8] == "0.0090"
        assert found[-1][:6] == ["*", "replicas", "of", "2", "CPU", "/"]

    def test_counts_what_fits_of_any_size(self, hybrid: Shell) -> None:
        small = hybrid.atoll("top", "--fits", "500m,1Gi", "-o", "json").json
        large = hybrid.atoll("top", "--fits", "4,16Gi", "-o", "json").json
        assert (small["apiVersion"], small["kind"]) == ("cli.atoll.io/v1alpha1", "ClusterUse")
        assert small["size"] == {"cpu": "500m", "memory": "1Gi"}
        for one, other in zip(small["clusters"], large["clusters"], strict=True):
            assert one["fits"] > other["fits"] >= 0

    def test_shows_what_workloads_take(self, hybrid: Shell) -> None:
        head, *rows = lines(hybrid.atoll("top", "workloads", "-n", "shop"))
        assert head[:6] == ["NAMESPACE", "NAME", "KIND", "REPLICAS", "CPU-REQ", "MEM-REQ"]
        assert rows[0][:6] == ["shop", "web", "Deployment", "12", "24", "48Gi"]

    def test_fits_a_narrow_terminal(self, hybrid: Shell) -> None:
        leader, follower = pty.openpty()
        os.set_blocking(leader, True)
        subprocess.run(["stty", "cols", "60"], stdin=follower, check=True)
        command = [sys.executable, "-m", "atoll", "top"]
        subprocess.run(command, env=hybrid.env(), stdout=follower, check=True, capture_output=False)
        os.close(follower)
        said = os.read(leader, 10_000).decode().splitlines()
        os.close(leader)
        assert said[0].split()[0] == "CLUSTER"
        assert max(map(len, said[:6])) <= 60

    def test_says_what_is_no_size(self, hybrid: Shell) -> None:
        result = hybrid.atoll("top", "--fits", "lots")
        assert (result.code, result.out) == (2, "")
        assert '"lots" is no quantity; try: --fits 500m,1Gi' in result.err
        nothing = hybrid.atoll("top", "--fits", "0,0")
        assert (nothing.code, nothing.out) == (2, "")
        assert nothing.err == 'error: --fits "0,0" asks for nothing; try: --fits 500m\n'


class TestWhy:
    def test_draws_the_decision_with_numbers_that_add_up(self, hybrid: Shell) -> None:
        drawn = hybrid.atoll("why", "deploy/web", "-n", "shop")
        assert drawn.code == 0, drawn.err
        assert drawn.out.startswith("DEPLOYMENT shop/web   12 replicas × (2 CPU, 4Gi)")
        assert " 1 CANDIDATES   5 clusters\n 2 FILTER       4 pass, 1 out\n" in drawn.out
        assert "WHAT WOULD CHANGE IT" in drawn.out
        divided = drawn.out.partition("6 DIVIDE")[2].partition("COST")[0].splitlines()[1:]
        assert sum(int(line.split()[1]) for line in divided if line.strip()) == 12

    def test_tells_of_one_cluster(self, hybrid: Shell) -> None:
        told = hybrid.atoll("why", "deploy/web", "-n", "shop", "--why-not", "azr-weu")
        assert "TaintToleration: untolerated taint {maintenance:NoSchedule}" in told.out
        unknown = hybrid.atoll("why", "deploy/web", "-n", "shop", "--why-not", "azr")
        assert (unknown.code, 'did you mean "azr-weu"?' in unknown.err) == (1, True)

    def test_gives_programs_the_record(self, hybrid: Shell) -> None:
        told = hybrid.atoll("why", "deploy/web", "-n", "shop", "-o", "json").json
        assert (told["kind"], told["decisions"][0]["replicas"]) == ("Explanation", 12)
        first = hybrid.atoll("why", "rb/web-deployment", "-n", "shop", "--decision", "1")
        assert "decision 1 of" in first.out

    def test_what_cannot_be_placed_ends_with_karmadas_sentence(self, hybrid: Shell) -> None:
        nowhere = {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "metadata": {"name": "lost"},
            "spec": {
                "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "lost"}],
                "placement": {"clusterAffinity": {"clusterNames": ["atlantis"]}},
            },
        }
        path = "/apis/policy.karmada.io/v1alpha1/namespaces/shop/propagationpolicies"
        hybrid.request("POST", path, nowhere)
        lost = {"metadata": {"name": "lost"}}
        hybrid.request("POST", "/api/v1/namespaces/shop/configmaps", lost)
        words = ["why", "cm/lost", "-n", "shop", "--exit-code"]
        told = hybrid.atoll(*words)
        while "has no binding" in told.err or "not been decided" in told.err:
            told = hybrid.atoll(*words)
        assert told.code == 4, told.err
        assert " RESULT         NoClusterFit: 0/5 clusters are available: " in told.out
        short = hybrid.atoll("why", "cm/lost", "-n", "shop", "--short")
        assert (short.code, "NoClusterFit: 0/5 clusters" in short.out) == (0, True)

    @pytest.mark.parametrize(
        ("words", "error"),
        [
            pytest.param(["deploy"], "say which object, as TYPE/NAME", id="no-name"),
            pytest.param(["deploy/nope"], 'there is no Deployment "nope" in', id="not-there"),
            pytest.param(["ns/shop"], "ns/shop has no binding; no policy selects", id="unbound"),
            pytest.param(["deploy/web", "-n", "shop", "--decision", "99"], "is not rec", id="99"),
        ],
    )
    def test_says_in_one_line_what_is_wrong(
        self, words: list[str], error: str, hybrid: Shell
    ) -> None:
        result = hybrid.atoll("why", *words)
        assert result.code in (1, 2)
        assert error in result.err
        assert (result.out, len(result.err.splitlines())) == ("", 1)


HEAVY = ("aiohttp", "numpy", "rich", "asyncio", "apsw", "cryptography", "uvloop", "msgspec")
PLAIN = [
    ["get", "deploy", "-n", "shop"],
    ["get", "clusters", "-o", "json"],
    ["get", "nodes", "-C", "idc-*"],
    ["top"],
    ["top", "workloads"],
    ["rebalance"],
    ["why", "deploy/web", "-n", "shop"],
    ["demo", "web", "--dry-run=client"],
    ["completion", "zsh"],
    ["cordon", "azr-weu"],
    ["uncordon", "azr-weu"],
    ["taint", "clusters", "azr-weu", "kept=so:NoSchedule"],
    ["taint", "clusters", "azr-weu", "kept-"],
    ["token", "list"],
    ["fleet", "list"],
    ["chaos", "list"],
    ["join", "--help"],
    ["unjoin", "--help"],
    ["status"],
    ["version"],
    ["kubeconfig", "path"],
    ["--help"],
]


def test_plain_commands_import_nothing_heavy(hybrid: Shell) -> None:
    program = (
        "import sys\n"
        "from atoll.cli.app import run\n"
        f"for words in {PLAIN!r}:\n"
        "    code = run(words)\n"
        f"    heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "    print('heavy:', words, code, heavy)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=hybrid.env(), capture_output=True, text=True, check=True)
    told = [line for line in done.stdout.splitlines() if line.startswith("heavy: ")]
    assert told == [f"heavy: {words} 0 []" for words in PLAIN], done.stderr


def test_all_commands_are_listed_with_what_is_true_of_them(shell: Shell) -> None:
    told = shell.atoll("--help").out
    for name, (_, said) in COMMANDS.items():
        command = app.get_command(click.Context(app), name)
        assert command is not None
        assert command.name == name
        assert f"\n  {name} " in told
        assert said.split(" ")[0] == (command.help or "").split(" ")[0], name


COMPLETE = """\
source <(atoll completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_atoll_completion atoll
printf '%s\\n' "${COMPREPLY[@]}"
"""


def test_bash_completes_names_of_clusters(hybrid: Shell) -> None:
    here = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "--norc", "-c", COMPLETE, "bash", "atoll", "get", "pods", "-C", "idc-bj,idc"],
        env={**hybrid.env(), "PATH": f"{here}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["idc-bj,idc-sh"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param(["ge"], ["get"], id="command"),
        pytest.param(["get", "propagationp"], ["propagationpolicies"], id="kind"),
        pytest.param(["get", "clusters", "idc"], ["idc-bj", "idc-sh"], id="name"),
        pytest.param(["why", "-n", "shop", "deploy/"], ["deploy/web"], id="kind-and-name"),
        pytest.param(["get", "pods", "-C", "a"], ["ali-hz", "aws-use1", "azr-weu"], id="cluster"),
        pytest.param(["get", "flub", "x"], [], id="no-kind"),
        pytest.param(["top", "--fi"], ["--fits"], id="option"),
    ],
)
def test_what_can_come_next_is_offered(
    words: list[str], offered: list[str], hybrid: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", hybrid.env())
    completing = ShellComplete(app, {}, "atoll", "_ATOLL_COMPLETE")
    found = completing.get_completions(words[:-1], words[-1])
    assert [each.value for each in found] == offered


def test_completion_without_a_plane_offers_nothing_and_says_nothing(shell: Shell) -> None:
    environment = {"_ATOLL_COMPLETE": "bash_complete", "COMP_WORDS": "atoll get dep"}
    shell.environment = {**environment, "COMP_CWORD": "2"}
    result = shell.atoll()
    assert (result.out.strip(), result.err) == ("", "")


@pytest.mark.parametrize(
    "words", [["get", "pods"], ["top"], ["why", "deploy/web"], ["demo", "web"]]
)
def test_without_a_plane_the_next_step_is_named(words: list[str], shell: Shell) -> None:
    result = shell.atoll(*words)
    assert (result.code, result.out) == (1, "")
    assert result.err == "error: no server is running; try: atoll up, or --kubeconfig FILE\n"


def test_a_plane_that_is_named_by_a_kubeconfig_is_used(hybrid: Shell, shell: Shell) -> None:
    named = hybrid.atoll("kubeconfig", "path").out.strip()
    found = shell.atoll("get", "clusters", "-o", "name", "--kubeconfig", named)
    assert [each.rpartition("/")[2] for each in found.out.split()] == HYBRID
    assert json.loads(shell.atoll("top", "-o", "json", "--kubeconfig", named).out)["clusters"]
