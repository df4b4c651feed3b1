"""What is done about a namespace that is being deleted, and what people are told meanwhile."""

from atoll.apiserver.housekeeping.graph import Node
from atoll.apiserver.housekeeping.namespaces import plan
from atoll.apiserver.objects.view import Metadata


def node(name: str, *finalizers: str, ending: bool = False) -> Node:
    since = "2026-01-01T00:00:00Z" if ending else None
    metadata = Metadata(name, "ns", name, finalizers=finalizers, deletion_timestamp=since)
    return Node("configmaps", f"ns/{name}", metadata)


def test_an_empty_namespace_is_done() -> None:
    sweep = plan({"configmaps": [], "secrets": []})
    assert (sweep.done, sweep.delete) == (True, ())


def test_everything_that_is_not_ending_is_deleted() -> None:
    fresh, ending = node("a"), node("b", "x/y", ending=True)
    sweep = plan({"configmaps": [fresh, ending], "secrets": []})
    assert (sweep.done, sweep.delete) == (False, (fresh,))


def test_nothing_else_goes_before_all_pods_have_gone() -> None:
    running, held, settings = node("a"), node("b", "x/y", ending=True), node("settings")
    content = {"configmaps": [settings], "pods": [running, held]}
    assert plan(content).delete == (running,)
    waiting = plan(content | {"pods": [held]})
    assert (waiting.done, waiting.delete) == (False, ())
    assert "pods. has 1 resource instances" in waiting.conditions()[1]["message"]
    assert plan(content | {"pods": []}).delete == (settings,)


def test_people_are_told_what_is_left_and_who_holds_it() -> None:
    content = {"configmaps": [node("a", "x/y", ending=True), node("b", "x/y", ending=True)]}
    told = plan(content).conditions()
    said = {one["type"]: (one["status"], one["message"]) for one in told}
    assert said == {
        "NamespaceDeletionContentFailure": (
            "False",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": (
            "True",
            "Some resources are remaining: configmaps. has 2 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "Some content in the namespace has finalizers remaining: x/y in 2 resource instances",
        ),
    }


def test_people_are_told_what_may_not_be_deleted() -> None:
    told = plan({"configmaps": [node("a")]}).conditions(["b is kept", "a is protected"])
    assert told[0] == {
        "type": "NamespaceDeletionContentFailure",
        "status": "True",
        "reason": "ContentDeletionFailed",
        "message": "Failed to delete all resource types, 2 remaining: a is protected, b is kept",
    }
