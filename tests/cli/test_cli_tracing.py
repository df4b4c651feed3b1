"""Traces by flags and by the environment, as a user has them."""

import pytest
from running import Shell, until

from testenv.collector import collecting

POLICIES = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"namespace": "default", "name": "all"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}],
        "placement": {},
    },
}


def test_a_server_tells_a_collector_how_a_change_got_to_its_members(shell: Shell) -> None:
    with collecting() as collector:
        shell.environment["OTEL_SERVICE_NAME"] = "our-plane"
        shell.up("--fleet", "tiny", "--tracing-endpoint", collector.url)
        shell.request("POST", POLICIES, POLICY)
        shell.create("settings")
        until(lambda: any(each.name == "deliver" for each in collector.spans), "a delivery")
        again = shell.atoll("up", "--tracing-endpoint", collector.url)
        assert again.code != 0
        assert "traces" in again.err
        assert shell.up().out.startswith("atoll is already running")
        assert shell.atoll("down").code == 0
    assert {each.service for each in collector.spans} == {"our-plane"}
    ways = {each.name for each in collector.spans}
    assert ways >= {"template changed", "detect", "schedule", "render works", "deliver"}


def test_the_environment_alone_switches_it_on_and_does_not_hinder_a_second_up(
    shell: Shell,
) -> None:
    shell.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:1"
    shell.up()
    assert shell.up().out.startswith("atoll is already running")


@pytest.mark.parametrize("command", ["up", "run", "agent"])
@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(
            ("--tracing-endpoint", "localhost:4317"),
            'error: --tracing-endpoint: "localhost:4317" is no address of a collector; try:'
            " http://127.0.0.1:4318",
            id="no address",
        ),
        pytest.param(
            ("--tracing-sampling-ratio", "2"),
            "error: Invalid value for '--tracing-sampling-ratio': 2.0 is not in the range 0<=x<=1;",
            id="more than all",
        ),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    shell: Shell, command: str, words: tuple[str, ...], told: str
) -> None:
    needed = ("--cluster-name", "a", "--karmada-kubeconfig", "b") if command == "agent" else ()
    result = shell.atoll(command, *needed, *words)
    assert result.code == 2
    assert result.err.startswith(told)
    assert result.err.count("\n") == 1


def test_a_bad_address_in_the_environment_is_told_with_its_name(shell: Shell) -> None:
    shell.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = "collector"
    result = shell.atoll("up")
    assert result.code == 2
    assert 'OTEL_EXPORTER_OTLP_ENDPOINT: "collector" is no address' in result.err
