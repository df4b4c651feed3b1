"""What a server holds that nobody has given anything to control, and when it begins to."""

import subprocess
import sys
from pathlib import Path

from running import Shell, until

# Starts a server, asks it as an administrator, and says what it has loaded by then.
ANSWERING = """
import os, signal, ssl, sys, threading, urllib.request
from pathlib import Path
from atoll.config import Config
from atoll.effects import system_effects
from atoll.main import run_process

config = Config(Path(sys.argv[1]), port=0)

def ask(url):
    context = ssl.create_default_context(cafile=str(config.pki_dir / "ca.crt"))
    context.load_cert_chain(config.pki_dir / "admin.crt", config.pki_dir / "admin.key")
    body = b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}}'
    headers = {"Content-Type": "application/json"}
    asked = url + "/api/v1/namespaces/default/configmaps"
    request = urllib.request.Request(asked, data=body, headers=headers)
    try:
        urllib.request.urlopen(request, context=context).read()
        urllib.request.urlopen(asked, context=context).read()
        print(*sorted(sys.modules), flush=True)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)

ready = lambda facts: threading.Thread(target=ask, args=[facts.url]).start()
run_process(config, system_effects(), ready)
"""

LARGE = ("aiohttp", "click", "cryptography", "lupa", "numpy")
CONTROLLING = (
    "atoll.control",
    "atoll.control.works.decide.plan",
    "atoll.scheduling.cycle",
    "atoll.cli",
)


def test_an_idle_server_has_not_loaded_what_it_may_never_need(tmp_path: Path) -> None:
    for _first_and_second_start in range(2):
        command = [sys.executable, "-c", ANSWERING, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        loaded = set(done.stdout.split())
        assert "atoll.apiserver.assembly" in loaded
        assert sorted(loaded.intersection((*LARGE, *CONTROLLING))) == []


POLICIES = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
SELECTOR = {"apiVersion": "v1", "kind": "ConfigMap", "name": "wanted"}
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "one"},
    "spec": {"resourceSelectors": [SELECTOR], "placement": {}},
}


def test_controllers_begin_with_the_first_policy_and_with_what_was_there_before_it(
    shell: Shell,
) -> None:
    def controllers() -> str:
        return str(shell.atoll("status", "-o", "json").json["controllers"])

    def bindings() -> list[str]:
        path = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings"
        return [each["metadata"]["name"] for each in shell.request("GET", path)["items"]]

    shell.up()
    shell.create("wanted")
    assert controllers() == "idle"
    told = shell.atoll("status").out
    assert "controllers idle, there are no clusters and no policies yet\n" in told
    shell.request("POST", POLICIES, POLICY)
    until(lambda: bindings() == ["wanted-configmap"], "what the policy selects is bound")
    assert controllers() == "running"
    shell.atoll("down")
    shell.up()
    until(lambda: controllers() == "running", "they begin without being asked")
