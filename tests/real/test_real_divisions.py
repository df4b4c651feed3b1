"""How replicas are divided among clusters, as the members see it in the end."""

from wanted_objects import deployment, divided, pod_template, policy
from world import Space, expect


def test_a_duplicated_deployment_runs_whole_in_every_cluster(space: Space) -> None:
    web = space.create(deployment("web", replicas=2))
    space.create(policy("web", [web], ["m1", "m3"]))
    expect(lambda: space.replicas(web), {"m1": 2, "m3": 2})
    expect(lambda: space.status(web, "replicas", "readyReplicas"), [4, 4])


def test_static_weights_divide_replicas_in_proportion(space: Space) -> None:
    web = space.create(deployment("web", replicas=9))
    weights = divided("Weighted", {"m1": 1, "m2": 2, "m3": 6})
    space.create(policy("web", [web], ["m1", "m2", "m3"], weights))
    expect(lambda: space.replicas(web), {"m1": 1, "m2": 2, "m3": 6})
    expect(lambda: space.status(web, "replicas", "readyReplicas"), [9, 9])
    space.plane.patch(web, {"spec": {"replicas": 18}})
    expect(lambda: space.replicas(web), {"m1": 2, "m2": 4, "m3": 12})
    expect(lambda: space.status(web, "readyReplicas"), [18])


def test_free_capacity_divides_replicas_among_those_who_have_it(space: Space) -> None:
    # Every member has the same nodes, and nobody else asks for a part of their CPUs.
    web = space.create(deployment("web", replicas=12, requests={"cpu": "500m"}))
    dynamic = divided("Weighted", "AvailableReplicas")
    space.create(policy("web", [web], ["m1", "m2", "m3"], dynamic))
    expect(lambda: space.replicas(web), {"m1": 4, "m2": 4, "m3": 4})
    expect(lambda: space.status(web, "readyReplicas"), [12])
    space.plane.patch(web, {"spec": {"replicas": 15}})
    expect(lambda: space.replicas(web), {"m1": 5, "m2": 5, "m3": 5})


def test_aggregated_replicas_are_kept_together_while_they_fit(space: Space) -> None:
    # A node has 256 GiB, so a member holds twice three such replicas.
    web = space.create(deployment("web", replicas=4, requests={"memory": "80Gi"}))
    space.create(policy("web", [web], ["m1", "m2"], divided("Aggregated")))
    expect(lambda: sorted(space.targets(web).values()), [4])
    first = next(iter(space.targets(web)))
    expect(lambda: space.status(web, "readyReplicas"), [4])
    space.plane.patch(web, {"spec": {"replicas": 8}})
    expect(lambda: sum(space.targets(web).values()), 8)
    assert len(space.targets(web)) == 2
    assert space.targets(web)[first] >= 4, "nothing is moved that runs"
    expect(lambda: space.status(web, "readyReplicas"), [8])


def test_clusters_are_chosen_by_region_so_many_of_each(space: Space) -> None:
    web = space.create(deployment("web", replicas=2))
    spread = [
        {"spreadByField": "region", "minGroups": 2, "maxGroups": 2},
        {"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2},
    ]
    space.create(policy("web", [web], ["m1", "m2", "m3"], {"spreadConstraints": spread}))
    expect(lambda: len(space.where(web)), 2)
    assert "m1" in space.where(web), "it is alone in its region"


def test_a_statefulset_and_a_job_are_divided_like_deployments(space: Space) -> None:
    both = divided("Weighted", {"m1": 1, "m3": 1})
    job = {
        "parallelism": 4,
        "completions": 4,
        "template": pod_template("job", restartPolicy="Never"),
    }
    del job["template"]["metadata"]
    task = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "task"}, "spec": job}
    named = {**deployment("named", replicas=4), "kind": "StatefulSet"}
    named["spec"]["serviceName"] = "named"
    made = [space.create(task), space.create(named)]
    space.create(policy("both", made, ["m1", "m3"], both))
    for wire in made:
        expect(lambda wire=wire: space.replicas(wire), {"m1": 2, "m3": 2})
    expect(lambda: space.status(named, "readyReplicas"), [4])
    expect(lambda: space.status(task, "succeeded"), [4])
    conditions = expect(lambda: space.status(task, "conditions")[0] or [], bool)
    assert ("Complete", "True") in [(each["type"], each["status"]) for each in conditions]
