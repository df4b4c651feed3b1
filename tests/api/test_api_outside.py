"""What the server tells of itself: health, numbers, paths, and how its tokens are checked."""

import re

import pytest
from backends import Backend

WATCHED = "apiserver_longrunning_requests"
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? (\S+)')


@pytest.mark.parametrize("endpoint", ["healthz", "livez", "readyz"])
def test_the_server_is_well(api: Backend, endpoint: str) -> None:
    answer = api.request("GET", f"/{endpoint}")
    assert (answer.status, answer.body) == (200, b"ok")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    verbose = api.request("GET", f"/{endpoint}?verbose").body.decode().splitlines()
    assert verbose[-1] == f"{endpoint} check passed"
    assert {"[+]ping ok", "[+]etcd ok", "[+]poststarthook/rbac/bootstrap-roles ok"} <= {*verbose}
    assert ("[+]shutdown ok" in verbose) is (endpoint == "readyz")


def test_each_part_can_be_asked_alone(api: Backend) -> None:
    for path in ("/readyz/etcd", "/livez/ping", "/healthz/poststarthook/rbac/bootstrap-roles"):
        answer = api.request("GET", path)
        assert (answer.status, answer.body) == (200, b"ok"), path
    answer = api.request("GET", "/readyz/nonsense")
    assert (answer.status, answer.body) == (404, b"404 page not found\n")


def test_parts_can_be_left_out(api: Backend) -> None:
    path = "/livez?verbose&exclude=etcd&exclude=nonsense"
    lines = api.request("GET", path).body.decode().splitlines()
    assert "[+]etcd excluded: ok" in lines
    assert lines[-2:] == [
        'warn: some health checks cannot be excluded: no matches for "nonsense"',
        "livez check passed",
    ]
    assert api.request("GET", "/livez?exclude=etcd").body == b"ok"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/healthz", 200),
        ("/livez", 200),
        ("/readyz", 200),
        ("/readyz?verbose", 200),
        ("/version", 200),
        ("/readyz/etcd", 403),
        ("/metrics", 403),
        ("/", 403),
        ("/api", 403),
        ("/apis", 403),
        ("/apis/apps", 403),
        ("/openapi/v2", 403),
        ("/openapi/v3", 403),
        ("/openid/v1/jwks", 403),
        ("/.well-known/openid-configuration", 403),
        ("/debug/pprof", 403),
        ("/api/v1/namespaces/default", 403),
        ("/nonsense", 403),
    ],
)
def test_strangers_learn_that_the_server_is_well_and_no_more(
    api: Backend, path: str, status: int
) -> None:
    assert api.stranger("GET", path, {}).status == status


def test_it_tells_where_there_is_something_to_be_had(api: Backend) -> None:
    paths = api.read("/")["paths"]
    assert paths == sorted(paths)
    assert {
        "/.well-known/openid-configuration",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/apis/apps",
        "/apis/apps/v1",
        "/healthz",
        "/healthz/ping",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/readyz/shutdown",
        "/version",
    } <= set(paths)


def test_others_can_check_its_tokens(api: Backend, namespace: str) -> None:
    found = api.request("GET", "/.well-known/openid-configuration")
    assert found.headers["content-type"] == "application/json"
    assert found.headers["cache-control"] == "public, max-age=3600"
    told = found.object()
    assert told.pop("issuer").startswith("https://kubernetes.default.svc")
    assert told.pop("jwks_uri").endswith("/openid/v1/jwks")
    assert told == {
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    found = api.request("GET", "/openid/v1/jwks")
    assert found.headers["content-type"] == "application/jwk-set+json"
    (key,) = found.object()["keys"]
    assert (key["kty"], key["crv"], key["alg"], key["use"]) == ("EC", "P-256", "ES256", "sig")
    assert key.keys() == {"use", "kty", "kid", "crv", "alg", "x", "y"}


def numbers(api: Backend) -> dict[tuple[str, str], float]:
    answer = api.request("GET", "/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4; charset=utf-8")
    found = {}
    for line in answer.body.decode().splitlines():
        if not line.startswith("#"):
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            name, labels, value = sample.groups()
            found[name, labels or ""] = float(value)
    return found


def total(found: dict[tuple[str, str], float], name: str, *labels: str) -> float:
    return sum(
        value
        for (each, said), value in found.items()
        if each == name and all(label in said for label in labels)
    )


def test_requests_are_counted_by_what_they_are_about(api: Backend, configmaps: str) -> None:
    about = ('resource="configmaps"', 'version="v1"', 'group=""')
    before = numbers(api)
    for name in ("a", "b"):
        api.create(configmaps, {"metadata": {"name": name}})
    api.request("GET", f"{configmaps}/none")
    api.request("POST", f"{configmaps}?dryRun=All", body={"metadata": {"name": "c"}})
    after = numbers(api)

    def more(name: str, *labels: str) -> float:
        return total(after, name, *about, *labels) - total(before, name, *about, *labels)

    made = ('verb="POST"', 'code="201"')
    assert more("apiserver_request_total", *made, 'dry_run=""') == 2
    assert more("apiserver_request_total", *made, 'dry_run="All"') == 1
    missing = ('verb="GET"', 'code="404"', 'scope="resource"')
    assert more("apiserver_request_total", *missing) == 1
    assert more("apiserver_request_duration_seconds_count", 'verb="POST"') == 3
    longest = ('verb="POST"', 'le="+Inf"')
    assert more("apiserver_request_duration_seconds_bucket", *longest) == 3


def test_watches_and_what_is_being_answered_are_counted(api: Backend, configmaps: str) -> None:
    about = ('resource="configmaps"', 'verb="WATCH"')
    api.create(configmaps, {"metadata": {"name": "a"}})
    before = total(numbers(api), WATCHED, *about)
    with api.watch(f"{configmaps}?watch=true") as watch:
        watch.next()
        found = numbers(api)
        assert total(found, WATCHED, *about) > before
    assert ("apiserver_current_inflight_requests", 'request_kind="mutating"') in found
    assert found["apiserver_current_inflight_requests", 'request_kind="readOnly"'] >= 0
    assert found["process_resident_memory_bytes", ""] > 1_000_000
    assert found["process_open_fds", ""] > 3
    assert found["process_start_time_seconds", ""] > 1_000_000_000


def test_nobody_fills_the_numbers_with_names_of_their_own(api: Backend, unique: str) -> None:
    for path in (f"/{unique}", f"/apis/{unique}/v1/things", f"/api/v1/{unique}"):
        api.request("GET", path)
        api.stranger("GET", path, {})
    api.request("GET", f"/api/v1/namespaces/{unique}/pods/{unique}/{unique}")
    assert unique not in api.request("GET", "/metrics").body.decode()


def test_those_who_monitor_may_read_the_numbers(api: Backend) -> None:
    headers = {"impersonate-user": "prometheus", "impersonate-group": "system:monitoring"}
    for path in ("/metrics", "/readyz/etcd", "/livez/ping"):
        assert api.request("GET", path, headers=headers).status == 200
    refused = api.request("GET", "/metrics", headers={"impersonate-user": "prometheus"})
    assert refused.json()["message"] == ('forbidden: User "prometheus" cannot get path "/metrics"')
