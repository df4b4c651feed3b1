"""kr8s, a Python client with a mind of its own, on our plane."""

import json
import subprocess
import sys
from pathlib import Path

from processes import Plane

STORY = Path(__file__).with_name("kr8s_story.py")


def test_kr8s_finds_changes_scales_watches_and_defines(plane: Plane) -> None:
    done = subprocess.run(
        [sys.executable, STORY, plane.kubeconfig],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["looking"].pop("me")
    kinds = ["Cluster", "ConfigMap", "Deployment", "PropagationPolicy"]
    assert seen == {
        "looking": {"major": "1", "kinds": kinds},
        "changing": {"data": {"color": "red", "size": "1"}, "found": ["one"], "gone": True},
        "scaling": {"replicas": 3, "note": "hello"},
        "watching": {"events": ["ADDED", "MODIFIED", "DELETED"]},
        "defining": {"size": 4},
    }
