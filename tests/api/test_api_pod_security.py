"""Pod Security Standards: what a namespace asks for by its labels, and what that refuses."""

import time
from typing import Any

import pytest
from backends import Backend

from atoll.apiserver.admitting.pod_standards import faults
from atoll.wire import Wire

PREFIX = "pod-security.kubernetes.io/"
PATIENCE_S = 120.0
PLAIN: Wire = {"containers": [{"name": "c", "image": "i"}]}
WRONG: Wire = {
    "hostNetwork": True,
    "hostPID": True,
    "securityContext": {
        "seLinuxOptions": {"type": "x", "user": "u", "role": "r"},
        "sysctls": [{"name": "a.b", "value": "1"}],
        "seccompProfile": {"type": "Unconfined"},
        "appArmorProfile": {"type": "Unconfined"},
        "runAsUser": 0,
        "runAsNonRoot": False,
    },
    "volumes": [
        {"name": "v", "hostPath": {"path": "/"}},
        {"name": "w", "nfs": {"server": "s", "path": "/"}},
    ],
    "containers": [
        {
            "name": "a",
            "image": "i",
            "ports": [{"containerPort": 80, "hostPort": 80}],
            "securityContext": {
                "capabilities": {"add": ["SYS_ADMIN", "NET_ADMIN"]},
                "runAsUser": 0,
                "runAsNonRoot": False,
            },
            "livenessProbe": {"httpGet": {"port": 1, "host": "h"}},
        },
        {"name": "b", "image": "i"},
    ],
}
NOTHING_SAID = (
    'allowPrivilegeEscalation != false (container "c" must set'
    " securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container"
    ' "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or'
    ' container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or'
    ' container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or'
    ' "Localhost")'
)


def space(api: Backend, name: str, **labels: str) -> str:
    """A namespace with these labels; gives the path of what is in it."""
    written = {PREFIX + key.replace("_", "-"): value for key, value in labels.items()}
    api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": written}})
    return f"/api/v1/namespaces/{name}"


def pod(spec: Wire, name: str = "p") -> Wire:
    return {"metadata": {"name": name}, "spec": spec}


def refusal(api: Backend, within: str, spec: Wire) -> str:
    """Why a pod is refused; a new namespace is noticed a moment later."""
    until = time.monotonic() + PATIENCE_S
    while (answer := api.request("POST", f"{within}/pods?dryRun=All", body=pod(spec))).status < 300:
        assert time.monotonic() < until, "it was never refused"
    answer.refusal(403, "Forbidden")
    message: str = answer.json()["message"]
    return message.removeprefix('pods "p" is forbidden: violates PodSecurity ')


BASELINE = (
    '"baseline:latest": forbidden AppArmor profile (pod must not set AppArmor profile type to'
    ' "Unconfined"), non-default capabilities (container "a" must not include "NET_ADMIN",'
    ' "SYS_ADMIN" in securityContext.capabilities.add), host namespaces (hostNetwork=true,'
    ' hostPID=true), hostPath volumes (volume "v"), hostPort (container "a" uses hostPort 80),'
    ' probe or lifecycle host (container "a" uses probe or lifecycle host "h"), seLinuxOptions'
    ' (pod set forbidden securityContext.seLinuxOptions: type "x"; user may not be set; role may'
    " not be set), seccompProfile (pod must not set securityContext.seccompProfile.type to"
    ' "Unconfined"), forbidden sysctls (a.b)'
)
RESTRICTED = (
    '"restricted:latest": forbidden AppArmor profile (pod must not set AppArmor profile type to'
    ' "Unconfined"), host namespaces (hostNetwork=true, hostPID=true), hostPort (container "a"'
    ' uses hostPort 80), probe or lifecycle host (container "a" uses probe or lifecycle host'
    ' "h"), seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "x"; user may'
    " not be set; role may not be set), forbidden sysctls (a.b), allowPrivilegeEscalation != false"
    ' (containers "a", "b" must set securityContext.allowPrivilegeEscalation=false), unrestricted'
    ' capabilities (containers "a", "b" must set securityContext.capabilities.drop=["ALL"];'
    ' container "a" must not include "NET_ADMIN", "SYS_ADMIN" in securityContext.capabilities.add),'
    ' restricted volume types (volumes "v", "w" use restricted volume types "hostPath", "nfs"),'
    ' runAsNonRoot != true (pod and container "a" must not set securityContext.runAsNonRoot=false),'
    ' runAsUser=0 (pod and container "a" must not set runAsUser=0), seccompProfile (pod must not'
    ' set securityContext.seccompProfile.type to "Unconfined")'
)


@pytest.mark.parametrize(
    ("level", "why"), [("baseline", BASELINE), ("restricted", RESTRICTED)], ids=["base", "strict"]
)
def test_a_pod_that_has_everything_is_refused_for_all_of_it(
    api: Backend, unique: str, level: str, why: str
) -> None:
    within = space(api, unique, enforce=level)
    assert refusal(api, within, WRONG) == why


def test_who_says_nothing_is_refused_at_the_strictest_level_only(api: Backend, unique: str) -> None:
    within = space(api, f"{unique}-strict", enforce="restricted")
    assert refusal(api, within, PLAIN) == f'"restricted:latest": {NOTHING_SAID}'
    within = space(api, f"{unique}-base", enforce="baseline")
    api.create(f"{within}/pods", pod(PLAIN))


def test_a_pod_that_keeps_to_the_strictest_level_is_taken(api: Backend, unique: str) -> None:
    within = space(api, unique, enforce="restricted")
    context = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    spec = {
        "containers": [{"name": "c", "image": "i", "securityContext": context}],
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "volumes": [{"name": "v", "emptyDir": {}}],
    }
    refusal(api, within, PLAIN)
    answer = api.request("POST", f"{within}/pods", body=pod(spec))
    assert (answer.status, answer.warnings) == (201, "")


def test_whoever_makes_pods_is_warned(api: Backend, unique: str) -> None:
    within = space(api, unique, enforce="restricted")
    refusal(api, within, PLAIN)
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": PLAIN}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    path = within.replace("/api/v1", "/apis/apps/v1") + "/deployments"
    answer = api.request("POST", path, body={"metadata": {"name": "d"}, "spec": spec})
    assert answer.status == 201
    told = f'would violate PodSecurity "restricted:latest": {NOTHING_SAID}'
    assert told in answer.warnings.replace("\\", "")


def test_warnings_may_be_stricter_than_what_is_enforced(api: Backend, unique: str) -> None:
    labels = {"enforce": "baseline", "enforce_version": "v1.20", "warn": "restricted"}
    within = space(api, unique, **labels)
    why = refusal(api, within, {**PLAIN, "hostNetwork": True})
    assert why == '"baseline:v1.20": host namespaces (hostNetwork=true)'
    answer = api.request("POST", f"{within}/pods", body=pod(PLAIN))
    assert answer.status == 201
    assert 'would violate PodSecurity "restricted:latest"' in answer.warnings.replace("\\", "")


@pytest.mark.parametrize("verb", ["create", "update"])
def test_labels_must_name_levels_and_versions(api: Backend, unique: str, verb: str) -> None:
    labels = {f"{PREFIX}enforce": "nope", f"{PREFIX}warn-version": "x"}
    wanted: Any = {"metadata": {"name": unique, "labels": labels}}
    if verb == "create":
        answer = api.request("POST", "/api/v1/namespaces", body=wanted)
    else:
        space(api, unique)
        answer = api.try_patch(f"/api/v1/namespaces/{unique}", wanted)
    answer.refusal(
        422,
        "Invalid",
        f'Namespace "{unique}" is invalid: [metadata.labels[{PREFIX}enforce]: Invalid value:'
        f' "nope": must be one of privileged, baseline, restricted,'
        f' metadata.labels[{PREFIX}warn-version]: Invalid value: "x": must be "latest" or "v1.x"]',
    )


def test_who_makes_a_namespace_stricter_is_told_of_the_pods_in_it(
    api: Backend, unique: str
) -> None:
    within = space(api, unique)
    for name in ("p", "q"):
        api.create(f"{within}/pods", pod(PLAIN, name))
    strict = {"metadata": {"labels": {f"{PREFIX}enforce": "restricted"}}}
    answer = api.try_patch(within, strict)
    assert answer.status == 200
    told = answer.warnings.replace("\\", "")
    head = f'existing pods in namespace "{unique}" violate the new PodSecurity enforce level'
    assert f'{head} "restricted:latest"' in told


@pytest.mark.parametrize(
    ("spec", "annotations", "rule"),
    [
        pytest.param(
            {"containers": [{"name": "c", "securityContext": {"privileged": True}}]},
            {},
            ("privileged", 'container "c" must not set securityContext.privileged=true'),
            id="privileged",
        ),
        pytest.param(
            {"initContainers": [{"name": "c", "securityContext": {"procMount": "Unmasked"}}]},
            {},
            ("procMount", 'container "c" must not set securityContext.procMount to "Unmasked"'),
            id="proc-mount",
        ),
        pytest.param(
            {"securityContext": {"windowsOptions": {"hostProcess": True}}},
            {},
            ("hostProcess", "pod must not set securityContext.windowsOptions.hostProcess=true"),
            id="host-process",
        ),
        pytest.param(
            {},
            {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"},
            (
                "forbidden AppArmor profile",
                "annotation must not set AppArmor profile type to"
                ' "container.apparmor.security.beta.kubernetes.io/c="unconfined""',
            ),
            id="app-armor",
        ),
    ],
)
def test_what_a_server_would_refuse_before(spec: Wire, annotations: Wire, rule: Any) -> None:
    assert faults(spec, annotations, "baseline") == [rule]
