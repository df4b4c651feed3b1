"""Where our server is meant to differ from kube-apiserver: test -> reason.

A test listed here runs on ours all the same and must fail there.
"""

DIFFERENCES: dict[str, str] = {
    "test_objects_can_be_had_as_protobuf": "answers are JSON or YAML; all clients read JSON",
    "test_columns_of_a_table_are_described": "columns of built-in kinds carry no description",
    "test_kubectl_says_the_same_of_both_servers[explain]": "OpenAPI carries no descriptions",
    "test_an_encoded_slash_ends_a_name": "an encoded slash is part of a name, not of the path",
    "test_a_rule_that_might_take_too_long_is_refused": (
        "the cost of rules is not estimated beforehand; their evaluation is limited"
    ),
}
