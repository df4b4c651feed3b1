"""What is drawn of a decision is what was recorded, and its numbers add up."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from atoll.cli.picture import Seen, part_of, picture, short
from atoll.cli.tables import width

NOW = datetime(2026, 5, 1, 12, 2, tzinfo=UTC)
FILTERS = ["APIEnablement", "TaintToleration", "ClusterAffinity"]
TAINTED = "cluster(s) had untolerated taint {maintenance:NoSchedule}"


def cluster(name: str, replicas: int, room: int, **facts: Any) -> dict[str, Any]:
    chosen = replicas > 0
    told = {"name": name, "chosen": chosen, "replicas": replicas, "rank": 1, "score": 0}
    told |= {"fate": "chosen" if chosen else "no room", "room": room}
    told["scores"] = [{"from": "ClusterLocality", "score": 0}]
    return told | facts


OUT = {
    "name": "azr-weu",
    "chosen": False,
    "replicas": 0,
    "fate": "filtered",
    "reason": TAINTED,
    "turnedAwayBy": [{"filter": "TaintToleration", "reason": TAINTED}],
}
ESTIMATES = [{"from": "cluster report", "replicas": 9}, {"from": "nodes", "replicas": 0}]
PLACED: dict[str, Any] = {
    "number": 2,
    "time": "2026-05-01T12:00:00Z",
    "outcome": {"verdict": "Success", "summary": "12 replicas in 3 clusters"},
    "replicas": 12,
    "targets": [
        {"name": "ali-hz", "replicas": 3},
        {"name": "aws-use1", "replicas": 3},
        {"name": "idc-bj", "replicas": 6},
    ],
    "fleetSize": 5,
    "passed": 4,
    "filters": FILTERS,
    "clusters": [
        cluster("ali-hz", 3, 28, groups=[{"by": "region", "name": "cn-east"}]),
        cluster("aws-use1", 3, 30, groups=[{"by": "region", "name": "us-east-1"}]),
        OUT,
        cluster("idc-bj", 6, 56, groups=[{"by": "region", "name": "cn-north"}]),
        cluster("idc-sh", 0, 0, reason="has no room", estimates=ESTIMATES, rank=4),
    ],
    "selection": "SpreadByRegion",
    "groups": [
        {"by": "region", "name": "cn-east", "score": 40, "taken": True},
        {"by": "region", "name": "cn-north", "score": 60, "taken": True},
        {"by": "region", "name": "us-east-1", "score": 30, "taken": True},
    ],
    "division": "AvailableReplicas",
    "sums": [
        {
            "method": "free capacity",
            "seats": 12,
            "votes": 114,
            "lines": [
                {"name": "ali-hz", "votes": 28, "share": "2.95", "won": 3, "kept": 0},
                {"name": "aws-use1", "votes": 30, "share": "3.16", "won": 3, "kept": 0},
                {"name": "idc-bj", "votes": 56, "share": "5.89", "won": 6, "kept": 0},
            ],
        }
    ],
    "cost": "0.582 per hour",
    "costs": [{"name": "idc-bj", "perHour": "0.137 per hour"}],
}
SENTENCE = "0/5 clusters are available: 5 cluster(s) had untolerated taint {x}."
REFUSED: dict[str, Any] = {
    "number": 3,
    "time": "2026-05-01T12:00:00Z",
    "outcome": {"verdict": "NoClusterFit", "message": SENTENCE, "summary": SENTENCE},
    "replicas": 12,
    "fleetSize": 1,
    "filters": FILTERS,
    "clusters": [OUT],
}
BINDING: dict[str, Any] = {
    "metadata": {
        "name": "web-deployment",
        "namespace": "shop",
        "generation": 3,
        "annotations": {"propagationpolicy.karmada.io/name": "web"},
    },
    "spec": {
        "resource": {"kind": "Deployment", "namespace": "shop", "name": "web"},
        "replicaRequirements": {"resourceRequest": {"cpu": "2", "memory": "4Gi"}},
        "schedulerName": "default-scheduler",
    },
    "status": {
        "schedulerObservedGeneration": 3,
        "conditions": [{"type": "Scheduled", "status": "True"}],
    },
}
POLICY = {"spec": {"resourceSelectors": [{"kind": "Deployment", "name": "web"}]}}


def seen(decision: dict[str, Any] = PLACED, **facts: Any) -> Seen:
    usual: dict[str, Any] = {"newest": 3, "binding": BINDING, "policy": POLICY, "now": NOW}
    return Seen(decision=decision, **(usual | facts))


def test_the_picture_goes_from_all_clusters_to_the_replicas() -> None:
    assert "\n".join(picture(seen(changes=("azr-weu takes 2, if you tolerate it",)))) == (
        """\
DEPLOYMENT shop/web   12 replicas × (2 CPU, 4Gi)   decided 2m ago by default-scheduler   \
decision 2 of 3
POLICY     pp/web (selects it by name, priority 0)
BINDING    rb/web-deployment   generation 3 = observed 3   Scheduled=True

 1 CANDIDATES   5 clusters
 2 FILTER       4 pass, 1 out
    CLUSTER  APIEnablement TaintToleration ClusterAffinity
    idc-bj   ok            ok              ok
    ali-hz   ok            ok              ok
    aws-use1 ok            ok              ok
    azr-weu  ok            FAIL            ok              untolerated taint \
{maintenance:NoSchedule}
    idc-sh   ok            ok              ok
 3 SCORE        ClusterLocality: 0 for all 4
 4 ESTIMATE     room for more replicas; of several answers the least counts
    idc-bj    56
    ali-hz    28
    aws-use1  30
    idc-sh    0   (cluster report says 9, nodes says 0)
 5 SELECT       SpreadByRegion: all 4 kept
    region  cn-east{ali-hz}      score 40  taken
    region  cn-north{idc-bj}     score 60  taken
    region  us-east-1{aws-use1}  score 30  taken
 6 DIVIDE       AvailableReplicas, free capacity: 12 replicas by 28 : 30 : 56
    idc-bj    6  ██████  56 votes: share 5.89, so 6
    ali-hz    3  ███     28 votes: share 2.95, so 3
    aws-use1  3  ███     30 votes: share 3.16, so 3
 COST           0.582/h (≈ 425/month)   idc-bj 0.137/h

WHAT WOULD CHANGE IT (were it placed anew now)
  azr-weu takes 2, if you tolerate it"""
    )


def test_its_numbers_add_up() -> None:
    drawn = "\n".join(picture(seen()))
    passed, out = map(int, re.findall(r"(\d+) pass, (\d+) out", drawn)[0])
    (candidates,) = re.findall(r"CANDIDATES +(\d+)", drawn)
    assert int(candidates) == passed + out
    assert drawn.count("FAIL") == out
    seats = re.findall(r"^    \S+ +(\d+)  █+", drawn, re.MULTILINE)
    assert sum(map(int, seats)) == PLACED["replicas"]
    assert sum(map(int, re.findall(r"so (\d+)$", drawn, re.MULTILINE))) == PLACED["replicas"]


def test_on_a_narrow_terminal_only_those_that_failed_are_told() -> None:
    drawn = list(picture(seen(), 60))
    assert "    azr-weu  untolerated taint {maintenance:NoSchedule}" in drawn
    assert not any("FAIL" in each for each in drawn)
    assert max(map(width, drawn[: drawn.index("")])) <= 60


def test_a_refusal_ends_with_the_sentence_that_karmada_has_for_it() -> None:
    drawn = list(picture(seen(REFUSED)))
    assert drawn[-1] == f" RESULT         NoClusterFit: {SENTENCE}"
    assert " 2 FILTER       0 pass, 1 out" in drawn


def test_in_short_there_is_a_line_for_each_that_got_nothing() -> None:
    assert list(short(seen())) == [
        "deployment/web: 12/12 on idc-bj=6 ali-hz=3 aws-use1=3",
        "  azr-weu  filtered: TaintToleration – untolerated taint {maintenance:NoSchedule}",
        "  idc-sh   not used: has no room (cluster report says 9, nodes says 0)",
    ]


def test_one_clusters_part_is_told_with_what_would_change_it() -> None:
    found = seen(changes=("azr-weu takes 2, if you tolerate it", "idc-sh takes 1, if you wait"))
    assert list(part_of(found, OUT)) == [
        "deployment/web: azr-weu is filtered: TaintToleration – untolerated taint "
        "{maintenance:NoSchedule}",
        "  filter    TaintToleration: untolerated taint {maintenance:NoSchedule}",
        "  change    azr-weu takes 2, if you tolerate it",
    ]
    chosen = next(each for each in PLACED["clusters"] if each["name"] == "idc-bj")
    assert next(part_of(found, chosen)) == ("deployment/web: idc-bj is chosen, with 6 replicas")


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        pytest.param({"kind": "Deployment", "name": "web"}, "selects it by name", id="name"),
        pytest.param({"kind": "Deployment"}, "selects all of its kind", id="kind"),
        pytest.param({"kind": "Job"}, "selects it no more", id="no-more"),
        pytest.param(
            {"kind": "Deployment", "labelSelector": {"matchLabels": {"a": "b"}}},
            "selects it by labels",
            id="labels",
        ),
    ],
)
def test_it_says_how_the_policy_came_to_select_it(selector: dict[str, Any], told: str) -> None:
    policy = {"spec": {"resourceSelectors": [selector], "priority": 7}}
    drawn = list(picture(seen(policy=policy)))
    assert drawn[1] == f"POLICY     pp/web ({told}, priority 7)"
    assert list(picture(seen(policy=None)))[1].endswith("(it is there no more)")


def test_of_very_many_clusters_reasons_are_counted() -> None:
    many = PLACED | {
        "fleetSize": 500,
        "passed": 100,
        "clusters": [each for each in PLACED["clusters"] if each["chosen"]],
        "reasons": [{"count": 400, "fate": "filtered", "reason": TAINTED}],
    }
    drawn = list(picture(seen(many)))
    assert " 2 FILTER       100 pass, 400 out" in drawn
    assert "    400 clusters: untolerated taint {maintenance:NoSchedule}" in drawn
    assert (
        list(short(seen(many)))[1] == "  400 clusters  untolerated taint {maintenance:NoSchedule}"
    )
