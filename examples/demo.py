"""`make demo`: the main job from end to end, within a minute, in a directory of its own.

Runs the commands that a user would type, and shows them: a control plane with five simulated
clusters, a workload placed, the reason, a cluster that fails and the work that moves. Nothing is
left behind, however it ends.
"""

import os
import signal
import subprocess
import sys
import tempfile
from types import FrameType

# Karmada takes half a minute to believe that a cluster is gone; nobody wants to watch that.
IMPATIENT = (
    *("--cluster-status-update-frequency", "1s"),
    *("--cluster-failure-threshold", "2s"),
    *("--cluster-success-threshold", "2s"),
)


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def atoll(*words: str) -> None:
    """Run a command as a user would, and show it."""
    print(f"$ atoll {' '.join(words)}", flush=True)
    done = subprocess.run([sys.executable, "-m", "atoll", *words], check=False)
    if done.returncode:
        sys.exit(f"the demo ended early: atoll {words[0]} failed with code {done.returncode}")


def story() -> None:
    say("A control plane, and five simulated clusters: two data centres and three clouds")
    atoll("up", "--fleet", "hybrid", *IMPATIENT)
    atoll("top")
    say("An ordinary Deployment and a policy: two regions or more, divided by what is free")
    atoll("demo", "web")
    say("Why there, and not elsewhere?")
    atoll("why", "deploy/web", "-n", "shop")
    say("A policy that allows to leave clusters that fail; then one fails, and is healed")
    atoll("demo", "failover")
    atoll("top", "workloads")
    say("Stop it, and leave nothing behind")
    atoll("down", "--purge", "--yes")


def main() -> None:
    def stop(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)

    # Also when the terminal goes away in the middle, nothing is left behind.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    with tempfile.TemporaryDirectory(prefix="atoll-demo-") as directory:
        os.environ["XDG_STATE_HOME"] = directory
        os.environ.pop("ATOLL_DATA_DIR", None)
        try:
            story()
        finally:
            command = [sys.executable, "-m", "atoll", "down", "--force"]
            subprocess.run(command, capture_output=True, check=False)
    say("Next, by hand:")
    for line in (
        'export PATH="$PWD/.venv/bin:$PATH"',
        "atoll up --fleet hybrid",
        "atoll demo web",
        "atoll why deploy/web -n shop",
        "export KUBECONFIG=$(atoll kubeconfig path); kubectl get clusters,rb -A",
        "atoll down",
    ):
        print(f"  {line}")


if __name__ == "__main__":
    main()
