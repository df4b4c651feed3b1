"""Writes that an API server counted, read from its metrics."""

from bench.requests import Written, writes

METRICS = """\
# HELP apiserver_request_total [STABLE] Counter of apiserver requests.
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",group="",resource="pods",subresource="",verb="LIST"} 7
apiserver_request_total{code="200",group="apps",resource="deployments",subresource="status",verb="PUT"} 12
apiserver_request_total{code="201",group="",resource="events",subresource="",verb="POST"} 1e+03
apiserver_request_total{code="200",group="coordination.k8s.io",resource="leases",subresource="",verb="PUT"} 9
apiserver_request_total{code="0",group="",resource="",subresource="/healthz",verb="POST"} 3
apiserver_request_terminations_total{code="500",resource="pods",subresource="",verb="PUT"} 4
"""  # noqa: E501 - as they are on the wire


def test_reads_leases_and_what_is_no_object_are_not_counted():
    assert list(writes(METRICS)) == [
        Written("PUT", "deployments", "status", 12),
        Written("POST", "events", "", 1000),
    ]
