"""Drives a gateway by the client of Python: `python_client.py URL TOKEN`."""
import asyncio
import contextlib
import json
import sys
import urllib.request

from paddock import PaddockError
from paddock.gateway import AsyncGateway, Gateway

url, token = sys.argv[1:]
gateway = Gateway(url, token, retries=0)


def ask(session):
    body = {"model": session.model, "messages": [{"role": "user", "content": "hi"}]}
    headers = {"authorization": f"Bearer {session.key}", "content-type": "application/json"}
    request = urllib.request.Request(f"{session.openai_url}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"]


gateway.resume(policy_version=3)
with gateway.session({"id": "sum", "answer": "5"}, sampling={"temperature": 0.5}, sample=2) as session:
    assert ask(session) == "It is 5."
    assert session.state()["status"] == "open"
    [copy] = session.fork()
    assert ask(copy) == "It is 5." and copy.state()["forked_from"] == session.id
    copy.delete()
    attached = gateway.attach(session.id)
    assert attached.state()["turns"] == 1 and not hasattr(attached, "key")
    assert attached.reward(0.5, {"style": 1})["status"] == "completed"
    [row] = session.rows()
    assert (row["reward"], row["sample"], row["turns"][0]["policy_version"]) == (0.5, 2, 3), row
    try:
        session.reward(1)
    except PaddockError as error:
        assert error.kind == "conflict", error
    else:
        raise AssertionError("the first reward counts")
try:
    with gateway.session({"id": "fails"}) as failing:
        ask(failing)
        raise KeyError("the agent fails")
except KeyError:
    pass
[verl] = gateway.rows(format="verl")
assert verl["reward_score"] == 0.5 and len(verl["response_ids"]) == len(verl["response_mask"])
following = gateway.rows(follow=True)
assert next(following)["task_id"] == "sum"
following.close()
assert [row["reward"] for row in gateway.rows()] == [0.5]
try:
    gateway.session({"id": "none"}, sandbox={"seed": 7})
except PaddockError as error:
    assert error.kind == "invalid" and "no sandboxes" in str(error), error
else:
    raise AssertionError("this gateway has no sandboxes")
assert [state["task_id"] for state in gateway.sessions()] == ["sum"]
gateway.pause()
gateway.resume()
session.delete()
session.delete()
assert gateway.stats()["turns"] == 0


async def play(gateway, number):
    async with gateway.session({"id": "many"}, sample=number, tool_choice="auto") as session:
        assert await asyncio.to_thread(ask, session) == "It is 5."
        await gateway.attach(session.id).reward(number)


async def main():
    async with AsyncGateway(url, token, retries=0) as gateway:
        await gateway.resume(4)
        async with contextlib.aclosing(gateway.rows(follow=True)) as rows:
            await asyncio.gather(*(play(gateway, number) for number in range(1, 9)))
            seen = sorted([(await anext(rows))["reward"] for _ in range(8)])
        assert seen == [1, 2, 3, 4, 5, 6, 7, 8], seen
        try:
            async with gateway.session({"id": "fails"}) as failing:
                await asyncio.to_thread(ask, failing)
                raise KeyError("the agent fails")
        except KeyError:
            pass
        session = await gateway.session({"id": "last"})
        await asyncio.to_thread(ask, session)
        [copy] = await session.fork()
        await copy.delete()
        await copy.delete()
        [row] = await session.rows()
        assert (row["status"], row["turns"][0]["policy_version"]) == ("aborted", 4), row
        assert len([row async for row in gateway.rows(format="trl")]) == 8
        assert len(await gateway.sessions()) == 9
        await gateway.pause()
        await gateway.resume()
        for state in await gateway.sessions():
            await gateway.attach(state["id"]).delete()
        assert (await gateway.stats())["rows"] == 0


asyncio.run(main())
print("the client is checked")
