"""What `kubectl explain` says of the fields that all objects have, in words of our own.

In: a definition without prose, by its name. Out: the same with a sentence for each such field. The
other fields of built-in kinds go without; those of custom kinds are described by their CRD.
"""

from collections.abc import Mapping

from atoll.apiserver.operations import META
from atoll.wire import Object

_OF_AN_OBJECT = {
    "apiVersion": "APIVersion defines by which group and version of the API the object is written.",
    "kind": "Kind is the name of the sort of object that this is.",
    "metadata": "Standard object's metadata: what every object has, of whatever kind it is.",
}
_OF_METADATA = {
    "annotations": "Annotations are notes of any sort by name, which nobody selects objects by.",
    "creationTimestamp": "CreationTimestamp is a timestamp: when the server made the object.",
    "deletionGracePeriodSeconds": "How many seconds the object has left, once it is being deleted.",
    "deletionTimestamp": "When the object is to be gone; set by the server when it is deleted.",
    "finalizers": "Who must agree, by taking its name off this list, before the object is gone.",
    "generateName": "What the name begins with, where the server is to find the rest.",
    "generation": "How often what is wanted of the object has changed; counted by the server.",
    "labels": "Labels are names and values that objects are selected by.",
    "managedFields": "Which manager last said what about which fields; kept by the server.",
    "name": "The name, which no other object of the kind has in the same namespace.",
    "namespace": "The namespace in which the name is unique.",
    "ownerReferences": "The objects that this one belongs to; when all are gone, it goes as well.",
    "resourceVersion": "Which state of the object this is; to be sent back to change no other.",
    "selfLink": "No longer set.",
    "uid": "Tells the object from all others, of the same name too, for all time.",
}


def in_words(definition: str, schema: Object) -> Object:
    """A definition with sentences for the fields that all objects have."""
    if definition == META + "ObjectMeta":
        return _described(schema, _OF_METADATA)
    if "metadata" in schema.get("properties", ()):
        return _described(schema, _OF_AN_OBJECT)
    return schema


def _described(schema: Object, sentences: Mapping[str, str]) -> Object:
    properties = {
        name: {"description": sentences[name], **each} if name in sentences else each
        for name, each in schema["properties"].items()
    }
    return {**schema, "properties": properties}
