"""Events under two groups: one collection, and nothing lost between its two forms."""

from hypothesis import given
from hypothesis import strategies as st
from kinds_recorded import recorded, resource_at

from atoll.apiserver.kinds.events import from_core, to_core

FIELDS = (
    *("involvedObject", "message", "source", "firstTimestamp", "lastTimestamp", "count"),
    *("reportingComponent", "reason", "type", "series", "related", "action", "metadata", "kind"),
)


@given(st.dictionaries(st.sampled_from(FIELDS), st.text()))
def test_an_event_survives_the_way_there_and_back(event):
    stored = {"apiVersion": "v1", "reportingComponent": "", "reportingInstance": "", **event}
    assert to_core(from_core(stored)) == stored


def test_the_new_form_of_an_event_is_that_of_kubernetes():
    lists = recorded("tables")
    core = lists["/api/v1/namespaces/demo/events"]["list"]["items"]
    new = lists["/apis/events.k8s.io/v1/namespaces/demo/events"]["list"]["items"]
    assert [from_core(event) for event in core] == new


def test_the_stored_form_of_an_event_is_that_of_kubernetes():
    lists = recorded("tables")
    core = lists["/api/v1/namespaces/demo/events"]["list"]["items"]
    new = lists["/apis/events.k8s.io/v1/namespaces/demo/events"]["list"]["items"]
    assert [to_core(event) for event in new] == core


def test_the_served_resource_converts():
    events = resource_at("/apis/events.k8s.io/v1/events")
    shown = events.from_stored({"apiVersion": "v1", "kind": "Event", "message": "hello"})
    assert shown == {"apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "hello"}
    assert events.to_stored(shown) == {
        "apiVersion": "v1",
        "kind": "Event",
        "message": "hello",
        "reportingComponent": "",
        "reportingInstance": "",
    }
