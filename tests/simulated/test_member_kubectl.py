"""The real kubectl against a member: what people do with a cluster, and what it tells them."""

import asyncio
import re

from member_kubectl import served

from atoll.simulated.fleets import Pool
from atoll.simulated.kubelet import Pace

FLEET = (Pool(count=3, cpu="4", memory="8Gi", zone="a"),)
PACE = Pace(start_s=0.2, job_s=0.2, end_s=0.2)

WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1
        ports: [{containerPort: 8080, name: http}]
        resources: {requests: {cpu: 100m, memory: 64Mi}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: http}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: "db:1"}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers: [{name: agent, image: "agent:1"}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  completions: 2
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers: [{name: sum, image: "sum:1"}]
"""


def with_kubectl(story, kubectl, home, **options):
    async def main():
        async with served(kubectl, home, **{"fleet": FLEET, "pace": PACE, **options}) as run:
            await story(run)

    asyncio.run(main())


def _column(table, number):
    return [line.split()[number] for line in table.splitlines()]


def test_workloads_come_up_and_are_described_and_their_pods_have_logs(kubectl, tmp_path):
    async def story(run):
        await run("apply -f -", WORKLOADS)
        for each in ("deploy/web", "sts/db", "ds/agent"):
            assert re.search("rolled out|roll out complete", await run(f"rollout status {each}"))
        await run("wait --for=condition=Complete job/sum --timeout=120s")
        await run("wait --for=condition=Ready pod -l app=web --timeout=120s")
        pods = await run("get pods --no-headers -o wide")
        assert sorted(_column(pods, 2)) == ["Completed"] * 2 + ["Running"] * 8
        assert set(_column(await run("get pods -l app=agent --no-headers -o wide"), 6)) == {
            "node-1",
            "node-2",
            "node-3",
        }
        assert _column(await run("get pvc --no-headers"), 1) == ["Bound", "Bound"]
        described = await run("describe deployment web")
        assert "3 desired | 3 updated | 3 total | 3 available" in described
        assert re.search(r"NewReplicaSet: +web-\w+ \(3/3 replicas created\)", described)
        assert re.search(r"Node: +node-\d/172\.18\.", await run("describe pod -l app=web"))
        lines = (await run("logs db-0")).splitlines()
        assert lines[0].startswith("db: db:1 starts on node-")
        assert lines[-1] == "db: is ready"
        assert await run("logs db-0 --tail=1") == "db: is ready\n"
        addresses = await run(
            "get endpointslices -l kubernetes.io/service-name=web"
            " -o jsonpath={.items[*].endpoints[*].addresses[0]}:{.items[*].ports[0].port}"
        )
        assert len(addresses.partition(":")[0].split()) == 3
        assert addresses.endswith(":8080")

    with_kubectl(story, kubectl, tmp_path)


def test_roll_outs_go_on_back_and_are_remembered(kubectl, tmp_path):
    async def story(run):
        await run("apply -f -", WORKLOADS)
        for kind, change in (("deploy/web", "web=nginx:2"), ("sts/db", "db=db:2")):
            await run(f"rollout status {kind}")
            await run(f"set image {kind} {change}")
            await run(f"rollout status {kind} --timeout=120s")
            history = await run(f"rollout history {kind}")
            assert _column(history.strip(), 0)[2:] == ["1", "2"]
            await run(f"rollout undo {kind}")
            await run(f"rollout status {kind} --timeout=120s")
        images = "-o jsonpath={.items[*].spec.containers[0].image}"
        assert set((await run(f"get pods -l app=web {images}")).split()) == {"nginx:1"}
        assert set((await run(f"get pods -l app=db {images}")).split()) == {"db:1"}
        await run("rollout pause deploy/web")
        await run("set image deploy/web web=nginx:3")
        await run("scale deploy/web --replicas=4")
        await run("wait --for=jsonpath={.status.availableReplicas}=4 deploy/web --timeout=120s")
        assert set((await run(f"get pods -l app=web {images}")).split()) == {"nginx:1"}
        await run("rollout resume deploy/web")
        await run("rollout status deploy/web --timeout=120s")

    with_kubectl(story, kubectl, tmp_path)


def test_nodes_are_drained_and_everything_goes_when_it_is_deleted(kubectl, tmp_path):
    async def story(run):
        await run("apply -f -", WORKLOADS)
        await run("rollout status deploy/web")
        await run("drain node-1 --ignore-daemonsets --force --timeout=120s")
        await run("rollout status deploy/web --timeout=120s")
        web = await run("get pods -l app=web --no-headers -o wide")
        assert "node-1" not in _column(web, 6)
        await run("delete -f - --wait --timeout=120s", WORKLOADS)
        await run("wait --for=delete pod --all --timeout=120s")
        assert "No resources found" in await run("get pods,rs,controllerrevisions,endpoints")

    with_kubectl(story, kubectl, tmp_path)


def test_a_pod_that_fits_nowhere_and_one_that_crashes_say_so(kubectl, tmp_path):
    async def story(run):
        big = WORKLOADS.partition("---")[0].replace("100m", "64")
        await run("apply -f -", big)
        await run("wait --for=condition=PodScheduled=False pod -l app=web --timeout=120s")
        said = "0/3 nodes are available: 3 Insufficient cpu."
        name = (await run("get pods -l app=web -o name")).split()[0]
        described = await run(f"describe {name}")
        assert re.search(rf"Warning +FailedScheduling .*{re.escape(said)}", described)
        code, why = await run.tried("logs deploy/web")
        assert (code, "is waiting to start" in why) == (1, True)
        await run("run bad --image=fail.simulated/crash:1")
        await run(
            "wait --for=jsonpath={.status.containerStatuses[0].state.waiting.reason}"
            "=CrashLoopBackOff pod/bad --timeout=120s"
        )
        assert "CrashLoopBackOff" in await run("get pod bad")
        assert "ends with exit code 1" in await run("logs bad")

    with_kubectl(story, kubectl, tmp_path)
