"""A Cluster and its Secret say how a member is reached; what is missing is said in one line."""

import base64
from typing import Any

import pytest

from atoll.errors import UsageError
from atoll.members.ways import endpoint


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def cluster(**spec: Any) -> dict[str, Any]:
    named = {"namespace": "karmada-cluster", "name": "m1-secret"}
    usual = {"apiEndpoint": "https://10.0.0.1:6443/", "secretRef": named}
    return {"metadata": {"name": "m1"}, "spec": {**usual, **spec}}


def secret(**data: str) -> dict[str, Any]:
    return {"data": {"token": encoded("abc\n"), "caBundle": encoded("-----PEM"), **data}}


def test_all_of_it_is_used():
    found = endpoint(cluster(proxyURL="socks5://p:1080", proxyHeader={"X-A": "b"}), secret())
    assert (found.server, found.token, found.ca) == ("https://10.0.0.1:6443", "abc", b"-----PEM")
    assert (found.proxy, found.proxy_headers) == ("socks5://p:1080", {"X-A": "b"})
    assert not found.skip_verification


def test_one_that_is_trusted_blindly_needs_no_authority():
    found = endpoint(cluster(insecureSkipTLSVerification=True), secret(caBundle=""))
    assert found.skip_verification
    assert found.ca is None


@pytest.mark.parametrize(
    ("spec", "found", "problem"),
    [
        pytest.param({"apiEndpoint": ""}, secret(), "spec.apiEndpoint", id="no address"),
        pytest.param({"secretRef": None}, secret(), "names no Secret", id="no Secret named"),
        pytest.param({"secretRef": {"name": "s"}}, secret(), "names no Secret", id="half a name"),
        pytest.param({}, None, "Secret karmada-cluster/m1-secret", id="no Secret there"),
        pytest.param({}, {}, "has no caBundle", id="an empty Secret"),
        pytest.param({}, secret(caBundle=""), "insecureSkipTLSVerification", id="no authority"),
        pytest.param({}, secret(token=""), "has no token", id="no token"),
        pytest.param({}, secret(token="%%%"), "token in the Secret", id="no base64"),
        pytest.param({}, secret(token="AAAA"), "may not have", id="no text"),
    ],
)
def test_what_is_missing_is_said(spec, found, problem):
    with pytest.raises(UsageError, match=problem) as failed:
        endpoint(cluster(**spec), found)
    assert "m1" in str(failed.value)
    assert "\n" not in str(failed.value)
