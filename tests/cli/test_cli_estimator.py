"""`atoll estimator`, and the options by which a plane asks estimators."""

from dataclasses import replace
from pathlib import Path

import click
import pytest
from running import Shell

from atoll.cli.options import estimator_options
from atoll.config import EstimatorChoice

HERE = Path(__file__).resolve()


def test_the_flags_say_what_is_chosen() -> None:
    found: list[EstimatorChoice] = []
    receive = click.command()(estimator_options(lambda estimators: found.append(estimators)))
    words = ["--enable-scheduler-estimator", "--scheduler-estimator-timeout", "1m30s"]
    words += ["--scheduler-estimator-port", "7", "--scheduler-estimator-ca-file", str(HERE)]
    words += ["--disable-scheduler-estimator-in-pull-mode"]
    receive.main(words, standalone_mode=False)
    chosen = EstimatorChoice(enabled=True, timeout=90.0, port=7, ca=HERE)
    assert found == [replace(chosen, disabled_in_pull_mode=True)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["up", "--scheduler-estimator-timeout", "0s"], "must be longer than nothing"),
        (["up", "--scheduler-estimator-cert-file", __file__], "go together"),
        (["estimator"], "Missing option '--cluster-name'"),
        (["estimator", "--cluster-name", "m", "--kubeconfig", "none"], "none"),
        (["estimator", "--cluster-name", "m", "--grpc-auth-key-file", __file__], "go together"),
        (
            ["estimator", "--cluster-name", "m", "--grpc-client-ca-file", __file__],
            "needs a --grpc-auth-cert-file",
        ),
    ],
    ids=["no time", "no key", "no name", "no kubeconfig", "no certificate", "no TLS"],
)
def test_what_cannot_be_is_refused_in_one_line(words: list[str], said: str, shell: Shell) -> None:
    result = shell.atoll(*words)
    assert result.code in (1, 2)
    assert said in result.err
    assert len(result.err.splitlines()) == 1
