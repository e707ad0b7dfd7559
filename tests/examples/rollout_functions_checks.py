"""Plays rollouts with functions of this process on the server of $PADDOCK_URL. Each line is a check that passed."""

import contextlib
import io
import json
import os
import sys
import threading
import time
import urllib.request
from typing import Literal

import paddock
import paddock.server
from paddock import AsyncClient, Client, PaddockError

client, policy = Client(os.environ["PADDOCK_URL"]), os.environ["POLICY"]
tasks = [{"id": thing, "query": f"What is {thing}?", "answer": "250", "fields": {"tier": 2}} for thing in ("tea", "cake")]
options = {"env": "tools", "model": "m", "max_turns": 3}
calls = []


def check(name, holds):
    if not holds:
        sys.exit(f"failed: {name}")
    print(name)


def running():
    with urllib.request.urlopen(os.environ["PADDOCK_URL"] + "/v1/rollouts") as response:
        return json.load(response)["rollouts"]


def price(thing: Literal["tea", "cake"]) -> int:
    """Returns the price of a thing in cents."""
    calls.append((thing, threading.current_thread() is threading.main_thread()))
    return {"tea": 250, "cake": 400}[thing]


def grade(completion, answer, tier, task, level=1):
    return {"score": float(completion == answer), "tier": tier, "level": level, "known": task["id"] in ("tea", "cake")}


def play(**changes):
    return [item["trajectory"] for item in client.rollout(policy, tasks, **{**options, **changes}) if item["kind"] == "episode"]


episodes = {episode["task"]["id"]: episode for episode in play(tools=[price], grader=grade)}
check("functions score episodes", [episodes[thing]["reward"] for thing in ("tea", "cake")] == [1, 0])
check("parts of a score are kept", episodes["tea"]["rewardParts"] == {"client": 1, "tier": 2, "level": 1, "known": 1})
check("functions are tools", sorted(calls) == [("cake", False), ("tea", False)])

rewards = [episode["reward"] for episode in play(tools=[price], grader="number_match")]
check("a grader of the server goes with tools of the client", sorted(rewards) == [0, 1])


async def later(completion: str):
    return None if "400" in completion else 0.5


rewards = {episode["task"]["id"]: episode["reward"] for episode in play(tools=[price], grader=later)}
check("an async grader, and one without a score", rewards == {"tea": 0.5, "cake": None})


def broken(completion, answer):
    return 1 / (len(completion) - len(answer))


printed = io.StringIO()
with contextlib.redirect_stderr(printed):
    errors = [episode["error"] for episode in play(tools=[price], grader=broken)]
line = broken.__code__.co_firstlineno + 1
check("an exception is an error of the episode", [error["boundary"] for error in errors] == ["grader"] * 2)
check("it names the line", f"ZeroDivisionError: division by zero (rollout_functions_checks.py, line {line})" in errors[0]["message"])
check("stderr has the traceback", f'rollout_functions_checks.py", line {line}, in broken' in printed.getvalue())

with contextlib.redirect_stderr(io.StringIO()):
    error = play(tools=[price], grader=lambda completion: "good")[0]["error"]
check("a wrong result is an error", "must return a number, None, or a dict with 'score'" in error["message"])
with contextlib.redirect_stderr(io.StringIO()):
    error = play(tools=[price], grader=lambda completion, tests: 1)[0]["error"]
check("an unknown parameter is an error", "the parameter 'tests' of <lambda>() must be one of completion" in error["message"])

for wrong, says in (({"grader": lambda *values: 1}, "must have names"), ({"tools": [lambda x: x]}, "a function with a name")):
    try:
        play(**{"tools": [price], **wrong})
    except TypeError as error:
        check(f"functions are checked: {says}", says in str(error))
    else:
        check("functions are checked", False)

try:
    play(tools=[price], grader=grade, client_grader={}, env="chat")
except PaddockError as error:
    check("an env without tools refuses them", error.kind == "invalid")

many = [{"id": str(at), "query": "What is tea?", "answer": "250"} for at in range(40)]
graded = []


def counting(completion):
    graded.append(completion)
    return 1


ahead = []
for item in client.rollout(policy, many, tools=[price], grader=counting, concurrency=2, max_waiting=1, **options):
    if item["kind"] == "episode":
        ahead.append(len(graded))
        if len(ahead) == 1:
            settled = -1
            while settled != len(graded):  # the server plays no further until the item has been worked on
                settled = len(graded)
                time.sleep(0.3)
            check("the server waits for the caller", len(graded) <= 6)
check("all episodes are played", len(ahead) == 40)

rollout = client.rollout(policy, many, tools=[price], grader=counting, concurrency=2, max_waiting=1, **options)
next(rollout)
rollout.close()
while running():
    time.sleep(0.01)
check("a rollout that is closed ends on the server", True)

asynchronous = AsyncClient(os.environ["PADDOCK_URL"])
try:
    asynchronous.rollout(policy, tasks, grader=grade, **options).asend(None).send(None)
except TypeError as error:
    check("an AsyncClient refuses functions", "use Client.rollout" in str(error))

paddock.server.command = lambda arguments: [*json.loads(os.environ["PADDOCK_COMMAND"]), *arguments]
items = list(paddock.rollout(policy, tasks, env="tools", model="m", max_turns=3, concurrency=2, tools=[price], grader=grade))
episodes = {item["trajectory"]["task"]["id"]: item["trajectory"]["reward"] for item in items if item["kind"] == "episode"}
check("paddock.rollout() plays with a server of its own", episodes == {"tea": 1, "cake": 0})
print("functions of rollouts are checked")
