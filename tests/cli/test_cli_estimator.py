"""`atoll estimator`, and the options by which a plane asks estimators."""

from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import Shell

from atoll.cli.estimating import as_words, estimator_options
from atoll.config import EstimatorChoice

HERE = Path(__file__).resolve()
CHOICES = st.builds(
    EstimatorChoice,
    enabled=st.booleans(),
    timeout=st.floats(min_value=0.001, max_value=1000).map(lambda value: round(value, 3)),
    namespace=st.sampled_from(["karmada-system", "elsewhere"]),
    service_prefix=st.sampled_from(["karmada-scheduler-estimator", "est"]),
    port=st.integers(1, 65535),
    ca=st.sampled_from([None, HERE]),
    skip_verification=st.booleans(),
    disabled_in_pull_mode=st.booleans(),
)


@given(CHOICES)
def test_the_choice_reaches_the_server_as_it_was_meant(choice: EstimatorChoice) -> None:
    found: list[EstimatorChoice] = []
    receive = click.command()(estimator_options(lambda estimators: found.append(estimators)))
    receive.main(as_words(choice), standalone_mode=False)
    assert found == [choice]


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
