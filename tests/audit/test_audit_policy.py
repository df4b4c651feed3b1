"""The audit policy: which rule decides about a request, and what is said of a wrong one."""

import pytest

from atoll.apiserver.audit.policy import USUAL, read_policy
from atoll.apiserver.authentication import Identity
from atoll.apiserver.authorization import Attributes
from atoll.errors import UsageError

HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
JANE = Identity("jane", ("dev", "system:authenticated"))
POD = Attributes("get", "", "pods", "a", "p")
LOG = Attributes("get", "", "pods", "a", "p", "log")
DEPLOYMENT = Attributes("update", "apps", "deployments", "b", "d")
NODE = Attributes("list", "", "nodes")
HEALTH = Attributes("get", path="/healthz/etcd")


def level(rule: str, identity: Identity | None, wanted: Attributes) -> str:
    """What a policy of this rule says, with Metadata for what it does not match."""
    policy = read_policy(f"{HEAD}rules:\n- {rule}\n- level: Metadata\n", "p.yaml")
    found = policy.rule_for(identity, wanted)
    return found.level if found is not None else "None"


@pytest.mark.parametrize(
    ("rule", "identity", "wanted", "matches"),
    [
        ("{level: Request, users: [jane]}", JANE, POD, True),
        ("{level: Request, users: [joe]}", JANE, POD, False),
        ("{level: Request, users: [jane]}", None, POD, False),
        ("{level: Request, userGroups: [ops, dev]}", JANE, POD, True),
        ("{level: Request, userGroups: [ops]}", JANE, POD, False),
        ("{level: Request, userGroups: [ops]}", None, POD, False),
        ("{level: Request, verbs: [get, list]}", JANE, POD, True),
        ("{level: Request, verbs: [list]}", JANE, POD, False),
        ("{level: Request, namespaces: [a]}", JANE, POD, True),
        ("{level: Request, namespaces: [a]}", JANE, DEPLOYMENT, False),
        ("{level: Request, namespaces: ['']}", JANE, NODE, True),
        ("{level: Request, namespaces: ['']}", JANE, HEALTH, False),
        ("{level: Request, resources: [{group: ''}]}", JANE, POD, True),
        ("{level: Request, resources: [{group: ''}]}", JANE, DEPLOYMENT, False),
        ("{level: Request, resources: [{group: '*'}]}", JANE, DEPLOYMENT, True),
        ("{level: Request, resources: [{group: '', resources: [pods]}]}", JANE, LOG, False),
        ("{level: Request, resources: [{group: '', resources: [pods/log]}]}", JANE, LOG, True),
        ("{level: Request, resources: [{group: '', resources: ['pods/*']}]}", JANE, LOG, True),
        ("{level: Request, resources: [{group: '', resources: ['pods/*']}]}", JANE, POD, True),
        ("{level: Request, resources: [{group: '', resources: ['*/log']}]}", JANE, LOG, True),
        ("{level: Request, resources: [{group: '', resources: ['*/log']}]}", JANE, POD, False),
        ("{level: Request, resources: [{group: '', resources: ['*']}]}", JANE, LOG, True),
        (
            "{level: Request, resources: [{group: '', resources: [pods], resourceNames: [q]}]}",
            JANE,
            POD,
            False,
        ),
        ("{level: Request, nonResourceURLs: ['/healthz*']}", JANE, HEALTH, True),
        ("{level: Request, nonResourceURLs: ['/healthz']}", JANE, HEALTH, False),
        ("{level: Request, nonResourceURLs: ['*']}", JANE, HEALTH, True),
        ("{level: Request, nonResourceURLs: ['*']}", JANE, POD, False),
        ("{level: Request}", None, HEALTH, True),
    ],
)
def test_a_rule_matches(
    rule: str, identity: Identity | None, wanted: Attributes, *, matches: bool
) -> None:
    assert level(rule, identity, wanted) == ("Request" if matches else "Metadata")


def test_the_first_rule_that_matches_decides() -> None:
    rules = "rules:\n- {level: None, users: [jane]}\n- {level: RequestResponse}\n"
    policy = read_policy(HEAD + rules, "p.yaml")
    assert policy.rule_for(JANE, POD) is None
    other = policy.rule_for(Identity("joe", ()), POD)
    assert other is not None
    assert other.level == "RequestResponse"


def test_what_no_rule_matches_is_not_recorded() -> None:
    policy = read_policy(HEAD + "rules:\n- {level: Metadata, users: [joe]}\n", "p.yaml")
    assert policy.rule_for(JANE, POD) is None


def test_stages_and_owners_are_left_out_by_rule_or_by_policy() -> None:
    text = (
        f"{HEAD}omitStages: [RequestReceived]\nomitManagedFields: true\nrules:\n"
        "- {level: Request, users: [jane], omitStages: [ResponseStarted],"
        " omitManagedFields: false}\n"
        "- {level: Request}\n"
    )
    policy = read_policy(text, "p.yaml")
    hers, others = policy.rule_for(JANE, POD), policy.rule_for(None, POD)
    assert hers is not None
    assert others is not None
    assert hers.omitted == {"RequestReceived", "ResponseStarted"}
    assert (hers.omits_owners, others.omits_owners) == (False, True)
    assert others.omitted == {"RequestReceived"}


def test_by_default_nothing_is_recorded_of_what_was_said() -> None:
    for wanted in (POD, HEALTH, Attributes("create", "", "secrets", "a", "s")):
        found = USUAL.rule_for(JANE, wanted)
        assert found is not None
        assert found.level == "Metadata"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rules: [", "is not YAML: line 1: "),
        (f"{HEAD}rules:\n- level: a: b\n", "is not YAML: line 4: mapping values are not allowed"),
        ("a: \x00", "is not YAML: "),
        ("[]", "is no object"),
        ("kind: Policy", "holds no Policy of audit.k8s.io/v1"),
        (HEAD, "has no rules"),
        (f"{HEAD}rules: [{{}}]", "is wrong: line 3: rules[0].level: Required value"),
        (
            f"{HEAD}rules:\n- level: None\n- users: [a]\n  resources:\n  - group: a/b\n",
            "is wrong: line 5: rules[1].level: Required value; line 7: rules[1].resources.group: ",
        ),
        (
            f"{HEAD}rules: [{{level: All}}]",
            'rules[0].level: Unsupported value: "All": supported values: "None", "Metadata",'
            ' "Request", "RequestResponse"',
        ),
        (
            f"{HEAD}omitStages: [Soon]\nrules: [{{level: None}}]",
            'omitStages[0]: Invalid value: "Soon": allowed stages are'
            " RequestReceived,ResponseStarted,ResponseComplete,Panic",
        ),
        (
            f"{HEAD}rules: [{{level: None, nonResourceURLs: [healthz, '/a*b']}}]",
            "must begin with a '/' character",
        ),
        (
            f"{HEAD}rules: [{{level: None, nonResourceURLs: [/a], namespaces: [b]}}]",
            "rules cannot apply to both regular resources and non-resource URLs",
        ),
        (
            f"{HEAD}rules: [{{level: None, resources: [{{group: apps/v1}}]}}]",
            'rules[0].resources.group: Invalid value: "apps/v1"',
        ),
        (
            f"{HEAD}rules: [{{level: None, resources: [{{resourceNames: [a]}}]}}]",
            "using resourceNames requires at least one resource",
        ),
    ],
)
def test_a_wrong_policy_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_policy(text, "p.yaml")
    assert said in str(refused.value)
    assert "p.yaml" in str(refused.value)
    assert "\n" not in str(refused.value)
