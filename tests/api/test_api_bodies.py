"""Bodies that are wrong: unknown fields, wrong types, broken JSON, dry runs and bad options."""

import pytest
from backends import Backend
from manifests import configmap, deployment

UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "
NOT_HANDLED = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
SLOPPY = b'{"metadata":{"name":"a","labelz":{}},"foo":1,"data":{"k":"1","k":"2"},"Data":{}}'


def test_strict_validation_names_every_unknown_and_duplicate_field(
    api: Backend, configmaps: str
) -> None:
    api.request("POST", f"{configmaps}?fieldValidation=Strict", body=SLOPPY).refusal(
        400,
        "BadRequest",
        f'{NOT_HANDLED}strict decoding error: unknown field "metadata.labelz", '
        'unknown field "foo", duplicate field "data.k", unknown field "Data"',
    )


@pytest.mark.parametrize("query", ["", "?fieldValidation=Warn"], ids=["by default", "if asked"])
def test_unknown_fields_are_dropped_with_a_warning(
    api: Backend, configmaps: str, query: str
) -> None:
    answer = api.request("POST", configmaps + query, body=SLOPPY)
    made = answer.object(201)
    assert (made["data"], "foo" in made, "labelz" in made["metadata"]) == ({"k": "2"}, False, False)
    assert answer.warnings == (
        r'299 - "unknown field \"metadata.labelz\"", 299 - "unknown field \"foo\"", '
        r'299 - "duplicate field \"data.k\"", 299 - "unknown field \"Data\""'
    )


def test_unknown_fields_can_be_dropped_silently(api: Backend, configmaps: str) -> None:
    answer = api.request("POST", f"{configmaps}?fieldValidation=Ignore", body=SLOPPY)
    assert (answer.status, answer.warnings) == (201, "")


def test_deep_unknown_fields_are_named_by_their_path(api: Backend, deployments: str) -> None:
    body = deployment("web", imagePullPolicee="Always")
    answer = api.request("POST", f"{deployments}?fieldValidation=Strict", body=body)
    answer.refusal(
        400,
        "BadRequest",
        'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: '
        'unknown field "spec.template.spec.containers[0].imagePullPolicee"',
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"{bad", "couldn't get version/kind; json parse error: invalid character 'b' "
                     "looking for beginning of object key string ({bad)", id="no JSON"),
        pytest.param(b"", "couldn't get version/kind; json parse error: unexpected end of JSON "
                     "input (<empty>)", id="nothing"),
        pytest.param(b'{"metadata":', "couldn't get version/kind; json parse error: unexpected end "
                     'of JSON input ({"metadata":)', id="half"),
        pytest.param(b'{"metadata":{"name":"q"}} trailing', "couldn't get version/kind; json parse "
                     "error: invalid character 't' after top-level value "
                     '({"metadata":{"name":"q"}} trai ...)', id="more behind it"),
        pytest.param(b'{"metadata":{"name":"n"},"data":NaN}', "couldn't get version/kind; json "
                     "parse error: invalid character 'N' looking for beginning of value "
                     '({"metadata":{"name":"n"},"data ...)', id="not a number"),
        pytest.param(b"[]", "couldn't get version/kind; json parse error: json: cannot unmarshal "
                     'array into Go value of type struct { APIVersion string "json:\\"apiVersion,'
                     'omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b5d)',
                     id="a list"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_json_object_is_refused(
    api: Backend, configmaps: str, body: bytes, message: str
) -> None:
    answer = api.request("POST", configmaps, body=body)
    answer.refusal(400, "BadRequest", UNRECOGNIZED + message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b'{"metadata":{"name":"a"},"data":{"a":1}}', "json: cannot unmarshal number "
                     "into Go struct field ConfigMap.data of type string", id="number in a map"),
        pytest.param(b'{"metadata":{"name":5}}', "json: cannot unmarshal number into Go struct "
                     "field ObjectMeta.metadata.name of type string", id="number as name"),
        pytest.param(b'{"metadata":[]}', "json: cannot unmarshal array into Go struct field "
                     "ConfigMap.metadata of type v1.ObjectMeta", id="list as metadata"),
        pytest.param(b'{"metadata":{"name":"a","labels":{"a":true}}}', "json: cannot unmarshal "
                     "bool into Go struct field ObjectMeta.metadata.labels of type string",
                     id="truth as label"),
        pytest.param(b'{"metadata":{"name":"a"},"immutable":"true"}', "json: cannot unmarshal "
                     "string into Go struct field ConfigMap.immutable of type bool",
                     id="text as truth"),
        pytest.param(b'{"metadata":{"name":"a"},"binaryData":{"b":"!!"}}',
                     "illegal base64 data at input byte 0", id="no base64"),
    ],
)  # fmt: skip
def test_values_of_the_wrong_type_are_refused(
    api: Backend, configmaps: str, body: bytes, message: str
) -> None:
    api.request("POST", configmaps, body=body).refusal(400, "BadRequest", NOT_HANDLED + message)


@pytest.mark.parametrize(
    ("replicas", "words"),
    [(b'"3"', "string"), (b"1.5", "number 1.5"), (b"9999999999", "number 9999999999")],
    ids=["text", "fraction", "too large"],
)
def test_whole_numbers_must_be_whole_numbers(
    api: Backend, deployments: str, replicas: bytes, words: str
) -> None:
    body = b'{"metadata":{"name":"d"},"spec":{"replicas":' + replicas + b"}}"
    api.request("POST", deployments, body=body).refusal(
        400,
        "BadRequest",
        'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal '
        f"{words} into Go struct field DeploymentSpec.spec.replicas of type int32",
    )


def test_nulls_count_as_absent(api: Backend, configmaps: str) -> None:
    sent = {"metadata": {"name": "a", "labels": None, "creationTimestamp": None}, "data": None}
    made = api.create(configmaps, sent)
    assert "data" not in made
    assert "labels" not in made["metadata"]


def test_text_that_is_not_unicode_is_mended(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, b'{"metadata":{"name":"a"},"data":{"x":"\xff"}}')
    assert made["data"] == {"x": "\ufffd"}


def test_nesting_has_a_limit(api: Backend, configmaps: str) -> None:
    body = b'{"metadata":{"name":"deep"},"x":' + b"[" * 20000 + b"]" * 20000 + b"}"
    api.request("POST", configmaps, body=body).refusal(
        400,
        "BadRequest",
        f"{UNRECOGNIZED}couldn't get version/kind; json parse error: invalid character '[' "
        'exceeded max depth ({"metadata":{"name":"deep"},"x ...)',
    )


def test_a_body_of_more_than_three_megabytes_is_refused(api: Backend, configmaps: str) -> None:
    body = b'{"metadata":{"name":"huge"},"data":{"x":"' + b"x" * 3_145_728 + b'"}}'
    api.request("POST", configmaps, body=body).refusal(
        413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"
    )


def test_a_configmap_holds_a_megabyte(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("fits", x="x" * 1_048_576))
    answer = api.request("POST", configmaps, body=configmap("over", x="x" * 1_048_577))
    details = answer.refusal(422, "Invalid")
    assert details["causes"][0]["message"] == "Too long: may not be more than 1048576 bytes"


def test_a_dry_run_answers_and_stores_nothing(api: Backend, configmaps: str) -> None:
    before = api.read(configmaps)["metadata"]["resourceVersion"]
    made = api.create(f"{configmaps}?dryRun=All", configmap("a"))
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"]
    assert "resourceVersion" not in made["metadata"]
    assert api.request("GET", f"{configmaps}/a").status == 404
    assert api.read(configmaps)["metadata"]["resourceVersion"] >= before


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param("dryRun=Zzz", 'dryRun: Unsupported value: ["Zzz"]: supported values: "All"',
                     id="dry run"),
        pytest.param("fieldValidation=Zzz", 'fieldValidation: Unsupported value: "Zzz": supported '
                     'values: "", "Ignore", "Strict", "Warn"', id="validation"),
        pytest.param(f"fieldManager={'x' * 129}", "fieldManager: Too long: may not be more than "
                     "128 bytes", id="manager"),
    ],
)  # fmt: skip
def test_unknown_options_are_refused(
    api: Backend, configmaps: str, query: str, message: str
) -> None:
    answer = api.request("POST", f"{configmaps}?{query}", body=configmap("a"))
    details = answer.refusal(422, "Invalid", f'CreateOptions.meta.k8s.io "" is invalid: {message}')
    assert (details["group"], details["kind"]) == ("meta.k8s.io", "CreateOptions")
    assert api.request("GET", f"{configmaps}/a").status == 404


def test_a_timeout_must_be_a_duration(api: Backend, configmaps: str) -> None:
    api.request("POST", f"{configmaps}?timeout=zz", body=configmap("a")).refusal(
        400,
        "BadRequest",
        'invalid timeout specified in the request URL - time: invalid duration "zz"',
    )
    assert api.request("GET", f"{configmaps}?timeout=6m6s").status == 200


def test_invalid_specs_tell_every_cause(api: Backend, deployments: str) -> None:
    body = {"metadata": {"name": "d"}, "spec": {"replicas": 1}}
    details = api.request("POST", deployments, body=body).refusal(
        422,
        "Invalid",
        'Deployment.apps "d" is invalid: [spec.selector: Required value, '
        "spec.template.metadata.labels: Invalid value: null: `selector` does not match template "
        "`labels`, spec.template.spec.containers: Required value]",
    )
    assert (details["name"], details["group"], details["kind"]) == ("d", "apps", "Deployment")
    assert [cause["field"] for cause in details["causes"]] == [
        "spec.selector",
        "spec.template.metadata.labels",
        "spec.template.spec.containers",
    ]
