"""What travels between the parts: Kubernetes objects as JSON has them."""

from typing import Any

Object = dict[str, Any]
