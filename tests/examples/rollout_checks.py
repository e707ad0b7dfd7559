"""Reads rollouts of the server of $PADDOCK_URL, which plays with the policy $POLICY."""

import asyncio
import contextlib
import json
import os
import sys
import time
import urllib.request

from paddock import AsyncClient, Client, PaddockError

client, policy = Client(os.environ["PADDOCK_URL"]), os.environ["POLICY"]
tasks = [{"id": name, "query": f"the {name} task", "answer": "1"} for name in ("first", "second")]
options = {"env": "chat", "model": "m", "grader": "number_match", "max_turns": 3}


def check(name, holds):
    if not holds:
        sys.exit(f"failed: {name}")
    print(name)


def running():
    with urllib.request.urlopen(os.environ["PADDOCK_URL"] + "/v1/rollouts") as response:
        return json.load(response)["rollouts"]


version = 1
items = []
for item in client.rollout(policy, tasks, samples=2, concurrency=1, max_waiting=0, weight_version=lambda: version, **options):
    items.append(item)
    version += item["kind"] == "group"
kinds = [item["kind"] for item in items]
check("episodes come before their group", kinds == ["episode", "episode", "group"] * 2)
episodes = [item["trajectory"] for item in items if item["kind"] == "episode"]
check("episodes are graded", [episode["reward"] for episode in episodes] == [1, 1, 0, 0])
check("turns have a version", [step["policyVersion"] for step in episodes[0]["steps"]] == [1])
check("a group has advantages", [one["advantage"] for one in items[2]["episodes"]] == [0, 0])

many = [{"query": f"the first task {at}"} for at in range(300)]
seen = []
for item in client.rollout(policy, many, stop=lambda: len(seen) >= 3, partial=True, max_waiting=2, **options):
    seen.append(item)
check("a rollout stops", 3 <= len(seen) < 100)

rollout = client.rollout(policy, many, max_waiting=2, **options)
check("items are yielded while others are played", next(rollout)["kind"] == "episode")
check("a rollout runs", len(running()) == 1)
rollout.close()
while running():
    time.sleep(0.01)
check("a rollout that is closed ends on the server", True)

task = {"id": "t", "query": "How long?", "answer": "6", "fields": {"context": ["abc", "de", "f"]}}
items = list(client.rollout(policy, [task], env="rlm", model="m", grader="exact_match"))
check("questions of code come after their episode", [item["kind"] for item in items] == ["episode"] * 4 + ["group"])
episode, *asked = (item["trajectory"] for item in items[:4])
check("code asks the policy", [episode["reward"], episode["info"]["final_value"]] == [1, 6])
parents = [{"id": episode["id"], "turn": 1, "call": number} for number in (1, 2, 3)]
check("questions have a parent", [one["parent"] for one in asked] == parents)

for wrong, kind in (({"policy": "openai:http://10.0.0.1"}, "forbidden"), ({"samples": 0}, "invalid")):
    try:
        list(client.rollout(wrong.pop("policy", policy), tasks, **{**options, **wrong}))
    except PaddockError as error:
        check(f"{kind} is an error", error.kind == kind)
    else:
        check(f"{kind} is an error", False)


async def asynchronously():
    async with AsyncClient(os.environ["PADDOCK_URL"]) as client:
        version, items = 1, []
        async for item in client.rollout(
            policy, tasks, samples=2, concurrency=1, max_waiting=0, weight_version=lambda: version, **options
        ):
            items.append(item)
            version += item["kind"] == "group"
        check("the asynchronous client has the same items", [item["kind"] for item in items] == kinds)
        async with contextlib.aclosing(client.rollout(policy, many, max_waiting=2, **options)) as rollout:
            check("an asynchronous rollout runs", (await anext(rollout))["kind"] == "episode" and len(running()) == 1)
        while running():
            await asyncio.sleep(0.01)
        stopped = [item async for item in client.rollout(policy, many, stop=lambda: True, max_waiting=2, **options)]
        check("an asynchronous rollout stops", 1 <= len(stopped) < 100)
        try:
            await anext(client.rollout("openai:http://10.0.0.1", tasks, **options))
        except PaddockError as error:
            check("a refusal is an error", error.kind == "forbidden")
        else:
            check("a refusal is an error", False)


asyncio.run(asynchronously())
print("rollouts are checked")
