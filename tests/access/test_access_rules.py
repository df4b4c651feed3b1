"""What rules allow, what covers what, and that the index of roles says what the store says."""

import asyncio

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.apiserver.access.default_roles import AUTO_UPDATE, ROLES, completed
from atoll.apiserver.access.roles import GROUP, Roles
from atoll.apiserver.access.rules import Rule, described, uncovered
from atoll.apiserver.authentication import Identity
from atoll.apiserver.authorization import Attributes
from atoll.store.memory import MemoryLog
from atoll.store.store import Put, Remove, Store


def some(*values):
    return st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True).map(tuple)


VERBS, GROUPS = some("get", "list", "*"), some("", "apps", "*")
RESOURCES = some("pods", "pods/log", "*/log", "*")
NAMES = st.just(()) | some("a", "b")
URLS = some("/a", "/a/*", "/b", "*")
RULES = st.builds(Rule, VERBS, GROUPS, RESOURCES, NAMES) | st.builds(
    lambda verbs, urls: Rule(verbs, urls=urls), VERBS, URLS
)
WANTED = st.builds(
    Attributes,
    st.sampled_from(["get", "list", "delete"]),
    st.sampled_from(["", "apps", "batch"]),
    st.sampled_from(["pods", "jobs"]),
    st.just(""),
    st.sampled_from(["", "a", "c"]),
    st.sampled_from(["", "log", "exec"]),
) | st.builds(
    lambda verb, path: Attributes(verb, path=path),
    st.sampled_from(["get", "delete"]),
    st.sampled_from(["/a", "/a/x", "/c"]),
)


@given(RULES, RULES, WANTED)
def test_what_a_covered_rule_allows_is_allowed_by_what_covers_it(wide, narrow, wanted):
    if wide.covers(narrow) and narrow.allows(wanted):
        assert wide.allows(wanted)


@given(RULES)
def test_a_rule_covers_itself(rule):
    assert rule.covers(rule)
    assert uncovered([rule], [rule]) == []


@settings(max_examples=300)
@given(st.lists(RULES, max_size=3), st.lists(RULES, min_size=1, max_size=2), WANTED)
def test_nothing_is_given_away_that_is_not_owned(owned, asked, wanted):
    missing = uncovered(owned, asked)
    given_away = any(rule.allows(wanted) for rule in asked)
    if given_away and not any(rule.allows(wanted) for rule in owned):
        assert any(rule.allows(wanted) for rule in missing)


@given(st.lists(RULES, max_size=3), st.lists(RULES, max_size=2))
def test_what_is_missing_is_said_once(owned, asked):
    told = [described(rule) for rule in uncovered(owned, asked)]
    assert len(told) == len(set(told))


ROLE = {"metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}
SUBJECTS = [
    {"kind": "User", "apiGroup": GROUP, "name": "u"},
    {"kind": "Group", "apiGroup": GROUP, "name": "g"},
    {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
]
IDENTITIES = [
    Identity("u", ()),
    Identity("v", ("g",)),
    Identity("system:serviceaccount:n:s", ()),
    Identity("g", ("u",)),
]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["b1", "b2", "role"]),
        st.none() | st.lists(st.sampled_from(SUBJECTS), max_size=3),
    ),
    max_size=12,
)


def binding(name, subjects):
    reference = {"kind": "ClusterRole", "name": "r", "apiGroup": GROUP}
    return {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}


async def written(steps):
    """The decisions of an index that followed every write, and of one that came afterwards."""
    store = Store.open(MemoryLog())
    following = Roles(store)
    store.listen(following.follow)
    committing = asyncio.get_running_loop().create_task(store.run())
    for name, subjects in steps:
        collection = "clusterroles" if name == "role" else "clusterrolebindings"
        made = {**ROLE, "metadata": {"name": "r"}} if name == "role" else binding(name, subjects)
        key = made["metadata"]["name"]

        def decide(current, _revision, made=made, gone=subjects is None):
            if gone and current is not None:
                return Remove(current.value)
            return Put(orjson.dumps(made))

        await store.write(f"{collection}.{GROUP}", key, decide)
    loaded = Roles(store)
    loaded.load()
    wanted = Attributes("get", path="/x")
    found = [[each.decide(one, wanted) for one in IDENTITIES] for each in (following, loaded)]
    await store.close()
    await committing
    return found


@settings(max_examples=60)
@given(STEPS)
def test_an_index_that_followed_says_what_one_says_that_was_loaded(steps):
    following, loaded = asyncio.run(written(steps))
    assert [one.allowed for one in following] == [one.allowed for one in loaded]


def test_a_subject_is_meant_by_its_kind():
    following, _ = asyncio.run(written([("role", []), ("b1", SUBJECTS)]))
    assert [one.allowed for one in following] == [True, True, True, False]


def test_a_usual_role_gets_what_it_lacks_and_keeps_what_was_added():
    _, discovery = next(one for one in ROLES if one[1]["metadata"]["name"] == "system:discovery")
    own = {"verbs": ["get"], "nonResourceURLs": ["/mine"]}
    assert completed({**discovery, "rules": [own]}, discovery)["rules"] == [
        own,
        *discovery["rules"],
    ]
    assert completed(discovery, discovery) == discovery
    meta = {**discovery["metadata"], "annotations": {AUTO_UPDATE: "false"}}
    alone = {**discovery, "metadata": meta, "rules": []}
    assert completed(alone, discovery) == alone
