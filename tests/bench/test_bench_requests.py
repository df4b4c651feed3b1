"""Writes that an API server counted, read from its metrics, and those that requests ask for."""

import pytest

from atoll.exchange import Request
from bench.requests import Written, writes, written

METRICS = """\
# HELP apiserver_request_total [STABLE] Counter of apiserver requests.
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",group="",resource="pods",subresource="",verb="LIST"} 7
apiserver_request_total{code="200",group="apps",resource="deployments",subresource="status",verb="PUT"} 12
apiserver_request_total{code="409",group="apps",resource="deployments",subresource="",verb="PUT"} 2
apiserver_request_total{code="201",group="",resource="events",subresource="",verb="POST"} 1e+03
apiserver_request_total{code="200",group="coordination.k8s.io",resource="leases",subresource="",verb="PUT"} 9
apiserver_request_total{code="0",group="",resource="",subresource="/healthz",verb="POST"} 3
apiserver_request_terminations_total{code="500",resource="pods",subresource="",verb="PUT"} 4
"""  # noqa: E501 - as they are on the wire


def test_reads_leases_and_what_is_no_object_are_not_counted():
    assert list(writes(METRICS)) == [
        Written("PUT", "deployments", "status", 12),
        Written("PUT", "deployments", "", 2, "409"),
        Written("POST", "events", "", 1000),
    ]


@pytest.mark.parametrize(
    ("method", "path", "said"),
    [
        ("POST", "/api/v1/namespaces/default/events", "events POST events"),
        ("POST", "/api/v1/namespaces", "plane POST namespaces"),
        ("DELETE", "/api/v1/namespaces/default", "plane DELETE namespaces"),
        ("PUT", "/apis/apps/v1/namespaces/a/deployments/b/status", "plane PUT deployments/status"),
        ("PUT", "/apis/apps/v1/namespaces/a/deployments/b", "plane PUT deployments"),
        ("PATCH", "/apis/cluster.karmada.io/v1alpha1/clusters/m", "plane PATCH clusters"),
    ],
)
def test_a_request_is_told_by_where_it_goes_its_verb_and_its_resource(method, path, said):
    assert written(Request(method, path), "plane") == said


def test_a_refused_write_is_told_with_its_code():
    assert str(Written("PUT", "works", "status", 3, "409")) == "PUT works/status: 409"
