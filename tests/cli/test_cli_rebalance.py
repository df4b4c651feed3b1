"""`atoll rebalance` on a running plane: what it proposes, and that it is what then happens."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from running import Result, Shell, until

PRICES = "/apis/placement.atoll.io/v1alpha1/clusterprices"
BINDINGS = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings"
REBALANCERS = "/apis/apps.karmada.io/v1alpha1/workloadrebalancers"


@pytest.fixture(scope="module")
def dear(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A plane on which two Deployments went where it was cheapest then."""
    user = Shell(tmp_path_factory.mktemp("home"))
    user.up("--fleet", "tiny")
    price(user, "member1", "0.01")
    price(user, "member2", "0.02")
    path = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
    user.request("POST", path, policy())
    for name in ("web", "api"):
        user.request("POST", "/apis/apps/v1/namespaces/default/deployments", deployment(name))
    until(lambda: places(user) == {"api": {"member1": 2}, "web": {"member1": 2}}, "both are placed")
    yield user
    user.clean_up()


def price(user: Shell, cluster: str, cpu: str) -> None:
    spec = {"cluster": cluster, "perCPUHour": cpu, "perGiBHour": "0", "currency": "EUR"}
    wire = {
        "apiVersion": "placement.atoll.io/v1alpha1",
        "kind": "ClusterPrice",
        "metadata": {"name": cluster},
        "spec": spec,
    }
    if cluster in names(user, PRICES):
        user.patch(f"{PRICES}/{cluster}", {"spec": spec})
    else:
        user.request("POST", PRICES, wire)


def names(user: Shell, path: str) -> set[str]:
    return {each["metadata"]["name"] for each in user.request("GET", path)["items"]}


def policy() -> dict[str, Any]:
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "cheapest"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}},
            "atoll": {"divide": {"order": "Cheapest"}},
        },
    }


def deployment(name: str) -> dict[str, Any]:
    container = {"name": name, "image": "nginx", "resources": {"requests": {"cpu": "1"}}}
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def places(user: Shell) -> dict[str, dict[str, int]]:
    """Where each Deployment is, once that is told."""
    return {
        each["spec"]["resource"]["name"]: {
            one["name"]: one["replicas"] for one in each["spec"].get("clusters") or ()
        }
        for each in user.request("GET", BINDINGS)["items"]
        if (each.get("status") or {}).get("lastScheduledTime")
    }


def replicas(user: Shell, cluster: str) -> int:
    """How many replicas the member itself is told to run."""
    path = "/apis/apps/v1/namespaces/default/deployments"
    return sum(
        each["spec"]["replicas"] for each in user.request("GET", path, cluster=cluster)["items"]
    )


def grow_dear(user: Shell) -> None:
    """member1 costs more than member2 from now on, and the plane knows."""
    price(user, "member1", "0.05")
    until(lambda: moves(user), "the price counts")


def moves(user: Shell, *words: str) -> list[Any]:
    found: list[Any] = user.atoll("rebalance", "-o", "json", *words).json["moves"]
    return found


def test_what_is_proposed_is_what_happens(dear: Shell) -> None:
    told = dear.atoll("rebalance")
    assert told.code == 0, told.err
    assert told.out.splitlines()[0].startswith("Nothing to gain: of 2 workloads, none would cost")
    grow_dear(dear)
    told = dear.atoll("rebalance", "-n", "default")
    head, *rows = (line.split("  ") for line in told.out.splitlines())
    assert head[0] == "WORKLOAD"
    assert [row[0].strip() for row in rows[:2]] == [
        "default/deployment/api",
        "default/deployment/web",
    ]
    assert "member1:2" in told.out
    assert "0.06 EUR/h (≈ 44 EUR/month)" in told.out
    assert "2 of 2 start elsewhere before the old end" in told.out
    assert (
        "Nothing was moved. Do it: atoll rebalance -n default --goal cost --max-moves 20"
        in told.out
    )
    proposed = moves(dear)
    assert len(proposed) == 2
    assert len(moves(dear, "--max-moves", "1")) == 1
    done = dear.atoll("rebalance", "--apply", "--yes")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "2 workloads moved as proposed"
    (asked,) = names(dear, REBALANCERS)
    assert f"{asked} created" in done.err
    wanted = {
        each["workload"]["name"]: {one["name"]: one["replicas"] for one in each["to"]}
        for each in proposed
    }
    assert places(dear) == wanted == {"api": {"member2": 2}, "web": {"member2": 2}}
    until(lambda: (replicas(dear, "member1"), replicas(dear, "member2")) == (0, 4), "members know")
    assert moves(dear) == []


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        pytest.param(["--apply"], 2, "nothing was moved; there is no terminal to ask on", id="tty"),
        pytest.param(["--goal", "fun"], 2, "'fun' is not one of", id="goal"),
        pytest.param(["--max-moves", "0"], 2, "0 is not in the range", id="moves"),
    ],
)
def test_says_in_one_line_what_is_wrong(
    words: list[str], code: int, error: str, dear: Shell
) -> None:
    result = dear.atoll("rebalance", *words)
    assert (result.code, result.out) == (code, "")
    assert error in result.err
    assert len(result.err.splitlines()) == 1


def on_a_terminal(user: Shell, answer: bytes, *words: str) -> Result:
    """A command that somebody sits before."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "atoll", *words],
        env=user.env(),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(theirs)
        os.write(ours, answer)
        out, err = process.communicate(timeout=120)
        os.close(ours)
    return Result(process.returncode, out.decode(), err.decode())


def test_on_a_terminal_the_user_is_asked(dear: Shell) -> None:
    price(dear, "member2", "0.09")
    until(lambda: moves(dear), "the price counts")
    before = places(dear)
    told = on_a_terminal(dear, b"n\n", "rebalance", "--apply")
    assert told.code == 130
    assert "Place 2 workloads anew?" in told.err
    assert places(dear) == before
    told = on_a_terminal(dear, b"y\n", "rebalance", "--apply")
    assert told.code == 0, told.err
    assert places(dear) == {"api": {"member1": 2}, "web": {"member1": 2}}
