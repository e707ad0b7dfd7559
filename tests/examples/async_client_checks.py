"""Drives paddock.AsyncClient against the server of $PADDOCK_URL. Each line of the output is a check that passed."""

import asyncio
import http.server
import json
import os
import sys
import threading
import time

from paddock import AsyncClient, PaddockError

URL, TOKEN = os.environ["PADDOCK_URL"], os.environ["PADDOCK_TOKEN"]


def check(name, holds):
    if not holds:
        sys.exit(f"failed: {name}")
    print(name)


async def error_of(work):
    try:
        await work
    except PaddockError as error:
        return error
    return None


async def sessions(client):
    async with client.session(seed=1, metadata={"user": "ada"}) as session:
        await session.exec("x = 20")
        check("a session keeps its variables", (await session.exec("x + 1")).value == "21")
        both = await asyncio.gather(session.exec("x += 1; x"), session.exec("x += 1; x"))
        check("programs of a session wait for each other", [result.value for result in both] == ["21", "22"])
        failed = await session.exec("print(input()); 1 / 0", stdin="in")
        check("an exception is a result", (failed.status, failed.stdout, failed.error.type) == ("error", "in\n", "ZeroDivisionError"))
        pieces = []
        streamed = await session.exec("for at in range(3): print(at, flush=True)\nx", on_output=lambda *piece: pieces.append(piece))
        check("output is streamed", "".join(text for _, text in pieces) == "0\n1\n2\n" == streamed.stdout)
        await session.make_dir("d")
        await session.write_file("d/a.bin", bytes(range(256)))
        check("files can be written and read", await session.read_file("d/a.bin") == bytes(range(256)))
        check("files can be listed", await session.list_files() == {"d/a.bin": 256})
        check("folders are listed", [entry["path"] for entry in await session.list_dir("d")] == ["d/a.bin"])
        await session.remove("d", recursive=True)
        check("files are removed", await session.list_files() == {})
        check("a missing file is an error", (await error_of(session.read_file("none"))).status == 404)
        check("a missing shell is an error", "shell" in str(await error_of(session.shell("ls"))))
        check("sessions are found by metadata", [one["id"] for one in await client.sessions({"user": "ada"})] == [session.id])
        await session.reset("rewind")
        check("a reset session has no variables", (await session.exec("'x' in globals()")).value == "False")
    check("a closed session is not found", (await error_of(session.exec("1"))).kind == "not_found")
    opened = await client.session()
    check("a session can be opened by await", (await opened.exec("1")).value == "1")
    await opened.close()
    await opened.close()


async def cancelled(client):
    for name, options in (("a program", {}), ("a streamed program", {"on_output": lambda *_: None})):
        async with client.session() as session:
            task = asyncio.create_task(session.exec("while True: pass", timeout=3000, **options))
            while not task.done():
                await asyncio.sleep(0.3)
                task.cancel()
                await asyncio.wait([task], timeout=10)
            check(f"{name} can be cancelled", task.cancelled())
            start = time.monotonic()
            check(f"{name} that is cancelled ends", (await session.exec("7")).value == "7" and time.monotonic() - start < 60)


async def tools(client):
    together = asyncio.Barrier(2) if hasattr(asyncio, "Barrier") else None

    async def add(a: int, b: int = 1) -> int:
        """Adds two numbers."""
        await (together.wait() if together else asyncio.sleep(0))
        return a + b

    def fail(reason: str) -> None:
        raise LookupError(reason)

    async def forever() -> None:
        await asyncio.sleep(3600)

    program = """
import paddock, threading
sums = []
threads = [threading.Thread(target=lambda n=n: sums.append(paddock.tools.add(n, b=2))) for n in (1, 2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
try:
    paddock.tools.fail('no')
except paddock.ToolError as error:
    sums.append(str(error))
sorted(map(str, sums))
"""
    async with client.session(tools=[add, fail, forever], tool_timeout=20) as session:
        result = await session.exec(program)
        check("coroutines and functions are tools, at the same time", result.value == "['3', '4', 'LookupError: no']")
        late = await session.exec("import paddock; paddock.tools.forever()", timeout=0.5)
        check("a program that is stopped ends its call", late.status == "timeout")
        for _ in range(100):
            running = [task for task in asyncio.all_tasks() if "forever" in repr(task.get_coro()) or "_answer" in repr(task.get_coro())]
            if not running:
                break
            await asyncio.sleep(0.1)
        check("no call runs on", running == [])


async def everything():
    async with AsyncClient(URL + "/v1/", TOKEN) as client:
        check("a program can run without a session", (await client.exec("6 * 7")).value == "42")
        pieces = []
        await client.exec("print('a', flush=True)", on_output=lambda *piece: pieces.append(piece))
        check("a program without a session is streamed", "".join(text for _, text in pieces) == "a\n")
        await sessions(client)
        await cancelled(client)
        await tools(client)
        many = await asyncio.gather(*(client.exec(f"{n} * 2") for n in range(40)))
        check("many programs run at once", [result.value for result in many] == [str(n * 2) for n in range(40)])
        outcomes = await client.exec_batch(["2 + 2", {"code": "1 / 0", "timeout": 5}])
        check("a batch returns outcomes in order", [one.result.value or one.result.status for one in outcomes] == ["4", "error"])
        check("graders are listed", "gsm8k" in await client.graders())
        messages = [{"role": "assistant", "content": "<answer>42</answer>"}]
        check("an answer is graded", (await client.grade("number_match", {"answer": "42"}, messages)).score == 1)
        async with client.session(), client.session(), client.session():
            check("a full server is reported after the wait", (await error_of(client.session(wait=0))).status in (429, 504))
    async with AsyncClient(URL) as stranger, AsyncClient("http://127.0.0.1:1", retries=0) as lost:
        check("a missing token is refused", (await error_of(stranger.exec("1"))).status == 401)
        nowhere = await error_of(lost.exec("1"))
    check("an unreachable server is an error", nowhere.status is None and "Cannot reach" in str(nowhere))


class Unsteady(http.server.BaseHTTPRequestHandler):
    """Responds with 503, then disconnects, then opens a session. Other requests get part of a response."""

    ids = []
    streams = 0

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/stream"):
            Unsteady.streams += 1
            return None
        if self.path.endswith("/exec"):
            self.send_response(200)
            self.send_header("content-length", "999")
            self.end_headers()
            return time.sleep(3)
        Unsteady.ids.append(self.headers["x-request-id"])
        if len(Unsteady.ids) == 2:
            return None
        status = 503 if len(Unsteady.ids) == 1 else 201
        contents = json.dumps({"error": {"type": "unavailable", "message": "later"}} if status == 503 else {"id": "s"}).encode()
        self.send_response(status)
        self.send_header("retry-after", "0")
        self.send_header("content-length", str(len(contents)))
        self.end_headers()
        self.wfile.write(contents)
        return None

    def do_DELETE(self):
        self.send_response(204)
        self.end_headers()


async def unsteady():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unsteady) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        async with AsyncClient(f"http://127.0.0.1:{server.server_address[1]}", backoff=0.01, answer_timeout=0.5) as client:
            opened = await client.session()
            check("requests are retried with their id", (opened.id, len(Unsteady.ids), len(set(Unsteady.ids))) == ("s", 3, 1))
            broken = await error_of(opened.exec("1", on_output=print))
            check("streams are not retried", (Unsteady.streams, broken.status) == (1, None))
            start = time.monotonic()
            late = await error_of(opened.exec("1"))
            check("a slow response exceeds the timeout", "within 0.5 s" in str(late) and time.monotonic() - start < 2.5)
        server.shutdown()


asyncio.run(everything())
asyncio.run(unsteady())
again = AsyncClient(URL, TOKEN)


async def once():
    async with again:
        return await again.exec("1")


for _ in range(2):
    check("a client works in one event loop after another", asyncio.run(once()).value == "1")
print("the asynchronous client is checked")
