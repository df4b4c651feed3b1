"""`atoll interpret`: customizations tried on files, without a server."""

import json
from pathlib import Path
from typing import Any

import pytest
from running import Result, Shell

from atoll.cli.app import run

Capture = pytest.CaptureFixture[str]

CUSTOMIZATION = """\
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: widgets}
spec:
  target: {apiVersion: example.io/v1, kind: Widget}
  customizations:
    replicaResource:
      luaScript: |
        local kube = require("kube")
        function GetReplicas(obj)
          return obj.spec.size, {resourceRequest = {cpu = kube.resourceAdd("1", "500m")}}
        end
    componentResource:
      luaScript: |
        function GetComponents(obj) return {{name = "one", replicas = obj.spec.size}} end
    replicaRevision:
      luaScript: |
        function ReviseReplica(obj, n) obj.spec.size = n return obj end
    retention:
      luaScript: |
        function Retain(desired, observed)
          desired.spec.at = observed.spec.at
          return desired
        end
    statusAggregation:
      luaScript: |
        function AggregateStatus(desired, items)
          local sum = 0
          for _, item in ipairs(items) do sum = sum + item.status.ready end
          desired.status = {ready = sum}
          return desired
        end
    statusReflection:
      luaScript: |
        function ReflectStatus(obj) return {ready = obj.status.ready} end
    healthInterpretation:
      luaScript: |
        function InterpretHealth(obj) return obj.status.ready > 0 end
---
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: more}
spec:
  target: {apiVersion: example.io/v1, kind: Widget}
  customizations:
    dependencyInterpretation:
      luaScript: |
        function GetDependencies(obj)
          return {{apiVersion = "v1", kind = "Secret", namespace = "shop", name = obj.spec.secret}}
        end
"""


def widget(**fields: Any) -> str:
    about = {"apiVersion": "example.io/v1", "kind": "Widget", "metadata": {"name": "w"}}
    return json.dumps({**about, **fields})


FILES = {
    "custom.yaml": CUSTOMIZATION,
    "broken.yaml": CUSTOMIZATION.replace("return obj end", "return obj"),
    "endless.yaml": CUSTOMIZATION.replace("return obj.status", "while true do end return obj.s"),
    "desired.yaml": widget(spec={"size": 3, "secret": "s", "empty": {}}),
    "observed.yaml": widget(spec={"size": 1, "at": "here"}, status={"ready": 2, "x": 1}),
    "other.yaml": '{"apiVersion": "v1", "kind": "Pod"}',
    "items.yaml": "- {clusterName: a, status: {ready: 1}}\n- {clusterName: b, status: {ready: 4}}",
    "bad.yaml": "a: [1",
    "text.yaml": "just text",
}
REVISED = """\
revised:
  apiVersion: example.io/v1
  kind: Widget
  metadata:
    name: w
  spec:
    empty: {}
    secret: s
    size: 9
"""
RETAINED = """\
retained:
  apiVersion: example.io/v1
  kind: Widget
  metadata:
    name: w
  spec:
    at: here
    empty: {}
    secret: s
    size: 3
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)


def atoll(capsys: Capture, *words: str) -> Result:
    """What the command says, without a process of its own."""
    code = run(list(words))
    said = capsys.readouterr()
    return Result(code, said.out, said.err)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "InterpretReplica --desired desired.yaml",
            "replica: 3\nrequires:\n  resourceRequest:\n    cpu: 1500m\n",
        ),
        (
            "InterpretComponent --desired desired.yaml",
            "components:\n- name: one\n  replicas: 3\n",
        ),
        ("ReviseReplica --desired desired.yaml --desired-replica 9", REVISED),
        ("Retain --desired-file desired.yaml --observed-file observed.yaml", RETAINED),
        (
            "AggregateStatus --desired desired.yaml --status items.yaml",
            "aggregatedStatus:\n  ready: 5\n",
        ),
        ("InterpretStatus --observed observed.yaml", "status:\n  ready: 2\n"),
        ("InterpretHealth --observed observed.yaml", "healthy: true\n"),
        (
            "InterpretDependency --desired desired.yaml",
            "dependencies:\n- apiVersion: v1\n  kind: Secret\n  name: s\n  namespace: shop\n",
        ),
    ],
)
def test_every_operation_can_be_tried(words: str, said: str, capsys: Capture) -> None:
    result = atoll(capsys, "interpret", "-f", "custom.yaml", "--operation", *words.split())
    assert (result.code, result.err) == (0, "")
    assert result.out == said


def test_scripts_are_checked(capsys: Capture) -> None:
    good = atoll(capsys, "interpret", "-f", "custom.yaml", "--check")
    assert good.code == 0
    assert len(good.out.splitlines()) == 8
    assert good.out.splitlines()[-1] == "more: dependencyInterpretation: GetDependencies: ok"
    bad = atoll(capsys, "interpret", "-f", "broken.yaml", "--check")
    assert bad.code == 1
    assert len(bad.out.splitlines()) == 7
    assert bad.err == (
        "error: ResourceInterpreterCustomization/widgets: "
        "spec.customizations.replicaRevision.luaScript: 'ReviseReplica': "
        "script:2: 'end' expected (to close 'function' at line 1) near '<eof>'\n"
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("-f custom.yaml", 2, "give --operation, or --check; try: atoll interpret --help"),
        ("-f custom.yaml --operation Fly", 2, "'Fly' is not one of 'InterpretReplica'"),
        ("-f none.yaml --check", 2, "'none.yaml' does not exist"),
        ("-f bad.yaml --check", 1, "cannot read bad.yaml; yaml: "),
        ("-f text.yaml --check", 1, "cannot use text.yaml; 'just text' is no object"),
        ("-f other.yaml --check", 1, "it has a Pod; give ResourceInterpreterCustomizations"),
        ("-f custom.yaml --operation Retain", 2, "Retain needs --desired; try"),
        ("-f custom.yaml --operation InterpretHealth", 2, "needs --desired or --observed; try"),
        (
            "-f custom.yaml --operation Retain --desired desired.yaml",
            2,
            "Retain needs --observed; try",
        ),
        (
            "-f custom.yaml --operation ReviseReplica --desired desired.yaml",
            2,
            "needs --desired-replica; try",
        ),
        (
            "-f custom.yaml --operation InterpretHealth --observed other.yaml",
            1,
            "no customization given defines InterpretHealth for Pod of v1",
        ),
        (
            "-f custom.yaml --operation InterpretHealth --observed desired.yaml",
            1,
            "'InterpretHealth': script:1: attempt to index field 'status' (a nil value)",
        ),
        (
            "-f custom.yaml --operation AggregateStatus --desired desired.yaml --status bad.yaml",
            1,
            "cannot read bad.yaml; yaml: ",
        ),
        (
            "-f endless.yaml --operation InterpretHealth --observed observed.yaml",
            1,
            "'InterpretHealth': ran longer than 1 s and was stopped",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    words: str, code: int, said: str, capsys: Capture
) -> None:
    result = atoll(capsys, "interpret", *words.split())
    assert (result.code, result.out) == (code, "")
    assert said in result.err
    assert len(result.err.splitlines()) == 1


def test_it_is_a_command_like_the_others(shell: Shell) -> None:
    result = shell.atoll("interpret", "-f", "custom.yaml", "--check")
    assert (result.code, len(result.out.splitlines()), result.err) == (0, 8, "")
