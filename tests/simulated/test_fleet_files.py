"""Fleets as people write them: what comes out of a file, and what is said of a wrong one."""

import json
from pathlib import Path

import pytest
import yaml

from atoll.config import Config
from atoll.dialects.karmada.annotations import PRICE
from atoll.errors import UsageError
from atoll.simulated.choosing_fleet import (
    PRESETS,
    PRESETS_DIR,
    chosen_fleet,
    find_fleet,
    remembered_fleet,
)
from atoll.simulated.fleet_file import read_fleet
from atoll.simulated.fleets import Description, Fleet, Pool, Tenant

FULL = """
about: everything there is
clusters:
- name: edge-{number:02}
  count: 2
  provider: acme
  region: north
  zones: [a, b]
  labels: {tier: edge}
  annotations: {team: shop}
  taints: ["spot=yes:PreferNoSchedule"]
  price: {cpu: 0.009, gib: "0.0012", nvidia.com/gpu: 2}
  pools:
  - {count: 3, cpu: 8, memory: 32Gi, pods: 50, resources: {nvidia.com/gpu: 4}}
  - {cpu: 500m, memory: 1Gi, labels: {disk: ssd}, taints: ["gpu:NoSchedule"], zones: [c]}
  tenants:
  - {name: erp, replicas: 7, cpu: 250m, memory: 1Gi}
  pods: {startDelay: 1m30s, jobDuration: 250ms, endDelay: 2s}
- name: plain
"""


def read(written: str) -> Fleet:
    return read_fleet("mine", written.encode(), "mine.yaml")


def test_everything_in_a_file_arrives() -> None:
    fleet = read(FULL)
    assert fleet.about == "everything there is"
    assert [each.name for each in fleet.clusters] == ["edge-01", "edge-02", "plain"]
    equal = {"cpu": "8", "memory": "32Gi", "pods": 50, "more": {"nvidia.com/gpu": "4"}}
    assert fleet.clusters[1] == Description(
        name="edge-02",
        provider="acme",
        region="north",
        zones=("a", "b"),
        labels={"tier": "edge"},
        annotations={"team": "shop", PRICE: "cpu=0.009, gib=0.0012, nvidia.com/gpu=2"},
        taints=("spot=yes:PreferNoSchedule",),
        pools=(
            Pool(count=2, zone="a", region="north", **equal),
            Pool(count=1, zone="b", region="north", **equal),
            Pool(
                count=1,
                cpu="500m",
                memory="1Gi",
                pods=110,
                labels={"disk": "ssd"},
                taints=("gpu:NoSchedule",),
                zone="c",
                region="north",
            ),
        ),
        tenants=(Tenant(name="erp", replicas=7, cpu="250m", memory="1Gi"),),
        start_s=90.0,
        job_s=0.25,
        end_s=2.0,
    )
    assert fleet.clusters[2].pools == (Pool(count=3, cpu="8", memory="32Gi", pods=110),)
    assert fleet.node_count == 4 + 4 + 3


def test_json_is_read_as_well() -> None:
    as_json = json.dumps(yaml.safe_load(FULL))
    assert read(as_json).clusters == read(FULL).clusters


WRONG = {
    "nothing": ("", 'a fleet is an object with a list of "clusters"'),
    "a list": ("[]", 'a fleet is an object with a list of "clusters"'),
    "no clusters": ("clusters: []", "clusters: there must be at least one"),
    "no text of YAML": ("clusters: {", "yaml: line 1: did not find expected node content"),
    "said twice": ("clusters: []\nclusters: []", 'line 2: key "clusters" already set in map'),
    "another field at the top": ("x: 1", "x: there is no such field; there are about, clusters"),
    "no name": ("clusters: [{}]", 'clusters[0].name: "" must be not empty'),
    "a number for a name": ("clusters: [{name: 5}]", "clusters[0].name: 5 must be text"),
    "a mistyped field": (
        "clusters: [{name: a}, {name: b, pool: []}]",
        'clusters[1].pool: there is no such field; did you mean "pools"?',
    ),
    "a mistyped field of a pool": (
        "clusters: [{name: a, pools: [{mem: 4Gi}]}]",
        'clusters[0].pools[0].mem: there is no such field; did you mean "memory"?',
    ),
    "no quantity": (
        "clusters: [{name: a, pools: [{cpu: 4 cores}]}]",
        'clusters[0].pools[0].cpu: "4 cores" is no quantity; write for example 500m, 2 or 1.5Gi',
    ),
    "a negative quantity": (
        "clusters: [{name: a, tenants: [{name: x, memory: -1Gi}]}]",
        'clusters[0].tenants[0].memory: "-1Gi" must not be negative',
    ),
    "too few nodes": (
        "clusters: [{name: a, pools: [{count: -1}]}]",
        "clusters[0].pools[0].count: -1 must be 0 or more",
    ),
    "too many nodes": (
        "clusters: [{name: a, pools: [{count: 6000}, {count: 6000}]}]",
        "clusters[0].pools: a cluster can have no more than 10000 nodes",
    ),
    "too many clusters": (
        'clusters: [{name: "a{number}", count: 700}, {name: "b{number}", count: 700}]',
        "clusters[1]: there can be no more than 1000 clusters",
    ),
    "the same name twice": (
        "clusters: [{name: a}, {name: a}]",
        'clusters[1].name: there are two clusters named "a"',
    ),
    "a count without a pattern": (
        "clusters: [{name: a, count: 3}]",
        'clusters[0].name: "a": a name with "{number}" and a count belong together',
    ),
    "a taint without an effect": (
        "clusters: [{name: a, taints: [x]}]",
        'clusters[0].taints[0]: "x" is no taint; write key:Effect or key=value:Effect, '
        "of NoSchedule, PreferNoSchedule, NoExecute",
    ),
    "a label that YAML takes for a truth": (
        "clusters: [{name: a, labels: {x: true}}]",
        "clusters[0].labels[x]: true must be text: put it in quotes",
    ),
    "a price below nothing": (
        "clusters: [{name: a, price: {cpu: -1}}]",
        'clusters[0].price: "-1": the price of cpu must be a decimal number, not negative, '
        "of up to nine places",
    ),
    "a delay without a unit": (
        "clusters: [{name: a, pods: {startDelay: 2}}]",
        "clusters[0].pods.startDelay: 2 is no span of time; write for example 2s or 500ms",
    ),
    "zones that are no list": (
        "clusters: [{name: a, zones: a}]",
        'clusters[0].zones: "a" must be a list',
    ),
}


@pytest.mark.parametrize(("written", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_its_place(written: str, said: str) -> None:
    with pytest.raises(UsageError) as told:
        read(written)
    assert str(told.value) == f"mine.yaml: {said}"


def test_every_preset_can_be_read_and_none_is_forgotten() -> None:
    sizes = {
        name: (len(found.clusters), found.node_count)
        for name in PRESETS
        if (found := find_fleet(name))
    }
    assert sizes == {"tiny": (2, 6), "hybrid": (5, 60), "gpu": (3, 20), "big": (100, 10_000)}
    assert sorted(each.stem for each in PRESETS_DIR.iterdir()) == sorted(PRESETS)
    assert all(find_fleet(name).about for name in PRESETS)


def test_an_instance_keeps_its_fleet_whatever_becomes_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("clusters: [{name: a}]")
    config, data = Config(tmp_path / "data", fleet=str(file)), tmp_path / "data"
    data.mkdir()
    assert remembered_fleet(config) is None
    assert chosen_fleet(config) == remembered_fleet(config) == chosen_fleet(Config(data))
    file.write_text("clusters: [{name: a}]  # with a remark")
    assert chosen_fleet(config) is not None
    file.write_text("clusters: [{name: b}]")
    with pytest.raises(UsageError, match=f'are of an earlier content of "{file}"; try: another'):
        chosen_fleet(config)
    with pytest.raises(UsageError, match=f'are of the fleet "{file}"; try: another'):
        chosen_fleet(Config(data, fleet="tiny"))
    kept = chosen_fleet(Config(data))
    assert kept is not None
    assert [each.name for each in kept.clusters] == ["a"]
    config.fleet_file.write_text("{")
    with pytest.raises(UsageError, match="is damaged"):
        chosen_fleet(Config(data))


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    wanted = {
        "huge": 'there is no fleet "huge"; try: one of tiny, hybrid, gpu, big, or a file',
        f"{tmp_path}/none": f"cannot read the fleet in {tmp_path}/none; no such file or directory",
        str(tmp_path): f"cannot read the fleet in {tmp_path}; is a directory",
    }
    for asked, said in wanted.items():
        with pytest.raises(UsageError) as told:
            find_fleet(asked)
        assert str(told.value) == said
