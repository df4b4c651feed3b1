"""What travels between the parts: Kubernetes objects as JSON has them."""

from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]
"""An object that others hold too: it is read, and never changed."""
Wire = dict[str, Any]
"""An object as it was just decoded or made; whoever has it may change it."""
