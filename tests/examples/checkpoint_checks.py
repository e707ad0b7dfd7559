"""Checks checkpoints of the Python clients with a real server, and with one that answers nonsense."""

import asyncio
import http.server
import json
import os
import threading

from paddock import AsyncClient, Checkpoint, Client, PaddockError

URL, TOKEN = os.environ["PADDOCK_URL"], os.environ["PADDOCK_TOKEN"]


def check(name, is_right):
    assert is_right, name


def error_of(work):
    try:
        work()
    except PaddockError as error:
        return error
    raise AssertionError("no error")


def look_up(word: str) -> str:
    """Looks a word up."""
    return word.upper()


def measure(size: int) -> int:
    """Returns a size."""
    return size


client = Client(URL, TOKEN)
with client.session(tools=[look_up, measure]) as session:
    session.exec("from paddock import tools; steps = iter([1, 2, 3]); tools.look_up('a'); first = next(steps)")
    kept = session.checkpoint()
    check("a checkpoint has the names of tools", kept.tools == ("look_up", "measure") and kept.bytes > 0)
    check("the session goes on", session.exec("next(steps)").value == "2")
    asked = session.exec("tools.look_up('age')", suspend_at="tool")
    check("a program waits at a call", asked.status == "waiting" and asked.call.arguments == {"word": "age"})
    check("the session has the call", session.waiting_call() == asked.call)
    other_call = error_of(lambda: session.resume(1, call_id="call_2"))
    check("another call cannot be answered", (other_call.status, other_call.reason) == (409, "exec_not_waiting"))
    check("an answer ends the program", session.resume({"years": 7}, call_id=asked.call.id).value_json == {"years": 7})
    big = 2**64 + 1
    asked = session.exec(f"tools.measure({big})", suspend_at="tool")
    check("a call that waits has all digits", asked.call.arguments == session.waiting_call().arguments == {"size": big})
    check("so has its answer", session.resume([big, 2**60, 10**30]).value == repr([big, 2**60, 10**30]))
    session.exec("tools.look_up('age')", suspend_at="tool")
    check("None is an answer", session.resume(None).value is None)
    session.exec("tools.look_up('age')", suspend_at="tool")
    check("an error is raised", session.resume(error="unknown").error.message == "unknown")
    check("nothing waits", session.waiting_call() is None)


    async def wait_for_answers():
        async with AsyncClient(URL, TOKEN) as client, client.session(tools=[look_up]) as session:
            asked = await session.exec("from paddock import tools; tools.look_up('x')", suspend_at="tool")
            check("an asynchronous client waits", (await session.waiting_call()).name == asked.call.name == "look_up")
            check("and goes on", (await session.resume(7)).value == "7")


    asyncio.run(wait_for_answers())
    session.restore(kept)
    check("a session is restored", session.exec("next(steps)").value == "2")
    with client.session(checkpoint=kept.id) as other:
        check("a session starts with a checkpoint", other.exec("next(steps)").value == "2")
    session.exec("open('notes', 'w').write('x')")
    files = session.checkpoint(memory=False)
    with client.session(checkpoint=files) as other:
        look = other.exec("'steps' in globals(), open('notes').read()").value
        check("a checkpoint without memory has the files alone", look == "(False, 'x')")
    client.delete_checkpoint(files)
    copies = session.fork(2, seed=7)
    values = [copy.exec("import random; random.random()").value for copy in copies]
    check("copies have other random numbers", values[0] != values[1])
    check("copies can call tools", copies[1].exec("tools.look_up('b')").value == "'B'")
    check("copies do not see each other", copies[0].exec("list(steps)").value == copies[1].exec("list(steps)").value == "[3]")
    for copy in copies:
        copy.close()
    contents = client.export_checkpoint(kept)
    check("an export has all bytes", len(contents) == kept.bytes)
    check("checkpoints are listed", [each.id for each in client.checkpoints()] == [kept.id])
    client.delete_checkpoint(kept)
    client.delete_checkpoint(kept.id)
    check("a deleted one is gone", error_of(lambda: session.restore(kept)).kind == "not_found")
    check("a deleted one starts nothing", error_of(lambda: client.session(checkpoint=kept)).status == 404)
    check("an import is the same", client.import_checkpoint(contents).id == kept.id)
    for wrong, reason in (
        (contents[:-1], "checkpoint_truncated"),
        (contents[:-1] + bytes([contents[-1] ^ 1]), "checkpoint_damaged"),
        (b"{}", "checkpoint_damaged"),
    ):
        check(f"{reason} is refused", error_of(lambda: client.import_checkpoint(wrong)).reason == reason)
    session.exec("import os; ends = os.pipe()")
    refused = error_of(session.checkpoint)
    check("a session with a pipe is refused", (refused.status, refused.reason) == (409, "checkpoint_refused"))
    check("a fork of it too", error_of(session.fork).reason == "checkpoint_refused")

with client.session(checkpoint_every="exec") as session:
    session.exec("steps = iter([1, 2, 3]); first = next(steps)")
    lost = session.exec("import os; os._exit(1)")
    check("a lost session returns to its checkpoint", (lost.status, lost.state_kept) == ("crashed", True))
    check("the result says to which", lost.restored_from.lost_calls == 0 and lost.restored_from.age_ms >= 0)
    after = session.exec("next(steps)")
    check("a session continues it", (after.value, after.restored_from) == ("2", None))
for wrong in (0, 1e6, "block"):
    error = error_of(lambda: client.session(checkpoint_every=wrong))
    check("a wrong checkpoint_every is refused", (error.status, "checkpointEvery" in str(error)) == (422, True))


async def everything():
    async with AsyncClient(URL, TOKEN) as client, client.session() as session:
        await session.exec("x = 41")
        kept = await session.checkpoint()
        await session.exec("x = 0")
        await session.restore(kept)
        (copy,) = await session.fork()
        check("a copy has the state", (await copy.exec("x")).value == "41")
        await copy.close()
        contents = await client.export_checkpoint(kept)
        await client.delete_checkpoint(kept)
        await client.delete_checkpoint(kept)
        check("an import is the same", (await client.import_checkpoint(contents)).id == kept.id)
        check("it is listed", kept.id in [each.id for each in await client.checkpoints()])
        async with client.session(checkpoint=kept) as other:
            check("a session starts with it", (await other.exec("x + 1")).value == "42")
        async with client.session(checkpoint=kept, checkpoint_every=3600) as other:
            lost = await other.exec("import os; os._exit(1)")
            check("a lost one continues it", lost.state_kept and lost.restored_from.lost_calls == 0)
            check("and has its state", (await other.exec("x")).value == "41")


asyncio.run(everything())


class Odd(http.server.BaseHTTPRequestHandler):
    """Answers all requests with the same body."""

    body = {}

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        contents = json.dumps(Odd.body).encode()
        self.send_response(201)
        self.send_header("content-length", str(len(contents)))
        self.end_headers()
        self.wfile.write(contents)

    do_GET = do_POST


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    odd = Client(f"http://127.0.0.1:{server.server_port}", retries=0)
    for Odd.body in ({}, {"id": 1}, {"id": "a", "expiresAt": "b", "bytes": "c", "tools": []}, {"id": "a", "expiresAt": "b", "bytes": 1, "tools": 5}):
        check("an invalid checkpoint is an error", "invalid" in str(error_of(lambda: odd.import_checkpoint(b"x"))))
    Odd.body = {"id": "a", "expiresAt": "b", "bytes": 1, "tools": ["t"]}
    check("a valid one is read", odd.import_checkpoint(b"x") == Checkpoint("a", 1, ("t",), "b"))
    server.shutdown()
print("checkpoints are checked")
