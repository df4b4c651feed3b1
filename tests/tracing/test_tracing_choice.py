"""Where traces go, by flags and by OpenTelemetry's names in the environment."""

import pytest

from atoll.config import NO_TRACING, TracingChoice, read_tracing

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
HERE = "http://127.0.0.1:4318"


@pytest.mark.parametrize(
    ("environment", "endpoint", "expected"),
    [
        pytest.param({}, None, NO_TRACING, id="nothing is said"),
        pytest.param({}, HERE, (f"{HERE}/v1/traces", "atoll", True), id="a flag"),
        pytest.param({}, f"{HERE}/", (f"{HERE}/v1/traces", "atoll", True), id="with a slash"),
        pytest.param(
            {}, f"{HERE}/v1/traces", (f"{HERE}/v1/traces", "atoll", True), id="with the path"
        ),
        pytest.param(
            {}, "https://a:1/otlp", ("https://a:1/otlp/v1/traces", "atoll", True), id="below a path"
        ),
        pytest.param(
            {ENDPOINT: HERE}, None, (f"{HERE}/v1/traces", "atoll", False), id="the environment"
        ),
        pytest.param(
            {ENDPOINT: "http://a"}, HERE, (f"{HERE}/v1/traces", "atoll", True), id="flags win"
        ),
        pytest.param({ENDPOINT: HERE}, "", NO_TRACING, id="a flag says nowhere"),
        pytest.param(
            {ENDPOINT: HERE, "OTEL_SDK_DISABLED": "TRUE"}, None, NO_TRACING, id="disabled"
        ),
        pytest.param(
            {"OTEL_SERVICE_NAME": "mine"}, HERE, (f"{HERE}/v1/traces", "mine", True), id="a name"
        ),
    ],
)
def test_where_traces_go(
    environment: dict[str, str],
    endpoint: str | None,
    expected: TracingChoice | tuple[str, str, bool],
) -> None:
    if isinstance(expected, tuple):
        url, service, is_said = expected
        expected = TracingChoice(endpoint=url, ratio=0.5, service=service, is_said=is_said)
    assert read_tracing(environment, endpoint, 0.5, "atoll") == expected


@pytest.mark.parametrize(
    "written",
    ["localhost:4317", "http://", "http://a:99999", "http://a:0", "ftp://a", "http://a?b", "h ttp"],
)
def test_what_is_no_address_is_told_with_where_it_was_said(written: str) -> None:
    with pytest.raises(
        ValueError, match=f'^--tracing-endpoint: "{written}" is no'.replace("?", ".")
    ):
        read_tracing({}, written, 1.0, "atoll")
    with pytest.raises(ValueError, match=f"^{ENDPOINT}: "):
        read_tracing({ENDPOINT: written}, None, 1.0, "atoll")
