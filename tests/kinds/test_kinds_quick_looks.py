"""What is asked of all names at once is what is asked of each: no quick look misses a fault."""

from hypothesis import example, given
from hypothesis import strategies as st

from atoll.apiserver.kinds.podrules import pod_spec_errors
from atoll.apiserver.kinds.rules import are_config_keys, config_key_faults
from atoll.apiserver.kinds.variables import are_plain, variable_errors
from atoll.dialects.kubernetes.names import are_labels, label_value_faults, qualified_faults

LETTERS = "aZ0-._/= \n\u00e9"
TEXTS = st.one_of(
    st.text(LETTERS, max_size=6),
    st.builds(lambda many, last: "a" * many + last, st.integers(60, 66), st.text(LETTERS)),
    st.builds(lambda many, last: "a" * many + last, st.integers(250, 256), st.text(LETTERS)),
    st.sampled_from(["app.kubernetes.io/name", "a/b/c", "..", "...", ".a", "a\n", "/a", "a/"]),
)


@given(st.dictionaries(TEXTS, TEXTS, max_size=4))
def test_labels_that_look_right_are_right(labels: dict[str, str]) -> None:
    faults = [*map(qualified_faults, labels), *map(label_value_faults, labels.values())]
    if are_labels(labels):
        assert not any(faults)
    elif all(text.isascii() for text in labels):  # then the quick look sees all that is right
        assert any(faults)


@given(st.lists(TEXTS, max_size=4, unique=True))
@example([""])
@example([])
def test_keys_of_data_look_as_they_are(keys: list[str]) -> None:
    assert are_config_keys(keys) == (not any(map(config_key_faults, keys)))


@given(st.lists(TEXTS, max_size=4))
def test_variables_that_look_plain_are_right(names: list[str]) -> None:
    variables = [{"name": name, "value": "x"} for name in names]
    faults = [list(variable_errors(variable, "env")) for variable in variables]
    assert are_plain(variables) == (bool(variables) and not any(faults))


def test_a_spec_that_was_right_is_judged_anew_when_anything_in_it_is_not() -> None:
    def spec(image: str, *names: str) -> dict[str, object]:
        env = [{"name": name, "value": "1"} for name in names]
        return {"containers": [{"name": "web", "image": image, "env": env}]}

    assert not list(pod_spec_errors(spec("nginx", "A"), "spec"))
    assert not list(pod_spec_errors(spec("nginx", "A", "B"), "spec"))
    told = [str(error) for error in pod_spec_errors(spec("nginx", "A", "B="), "spec")]
    assert len(told) == 1
    assert told[0].startswith('spec.containers[0].env[1].name: Invalid value: "B="')
    (missing,) = pod_spec_errors(spec("", "A"), "spec.template.spec")
    assert str(missing) == "spec.template.spec.containers[0].image: Required value"
