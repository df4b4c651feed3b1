"""What a server's process is told arrives as it was meant."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from atoll.cli.serving import Order, program, read_order
from atoll.config import AuditChoice, Config, EstimatorChoice, LogChoice, RequestLimits, Times

PATHS = st.sampled_from([Path("/somewhere"), Path("/some where/else"), Path("/\u00fcber/uns")])
MAYBE = st.none() | PATHS
SPANS = st.floats(min_value=0.001, max_value=100_000)
CONFIGS = st.builds(
    Config,
    data_dir=PATHS,
    host=st.sampled_from(["127.0.0.1", "::"]),
    port=st.none() | st.integers(0, 65535),
    is_default=st.booleans(),
    fleet=st.none() | st.sampled_from(["tiny", "/a/file.yaml"]),
    feature_gates=st.sampled_from(["", "Failover=true,PropagateDeps=false"]),
    plugins=st.sampled_from(["*", "*,-TaintToleration"]),
    requests=st.builds(RequestLimits, max_requests_inflight=st.integers(1, 1000)),
    times=st.builds(Times, cluster_monitor_period=SPANS, resource_eviction_rate=SPANS),
    estimators=st.builds(
        EstimatorChoice, enabled=st.booleans(), timeout=SPANS, ca=MAYBE, certificate=MAYBE
    ),
    logs=st.builds(LogChoice, format=st.sampled_from(["text", "json"])),
    audit=st.builds(AuditChoice, log=MAYBE, policy=MAYBE, maxage=st.integers(0, 30)),
)


@given(st.builds(Order, CONFIGS, SPANS, st.none() | st.integers(3, 9)))
def test_an_order_arrives_as_it_was_meant(order: Order) -> None:
    assert read_order(program(order)[-1]) == order
