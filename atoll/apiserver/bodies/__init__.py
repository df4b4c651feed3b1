"""Request bodies to objects, objects to response bodies: JSON and YAML as Kubernetes has them."""

from atoll.apiserver.bodies.decoding import Body, decode_body, decode_options
from atoll.apiserver.bodies.encoding import encode_json, encode_yaml
from atoll.apiserver.bodies.patches import Patch, conform_patched, decode_patch, patch_refused

__all__ = [
    "Body",
    "Patch",
    "conform_patched",
    "decode_body",
    "decode_options",
    "decode_patch",
    "encode_json",
    "encode_yaml",
    "patch_refused",
]
