"""Drives paddock_client.py against the server of $PADDOCK_URL. Each line of the output is a check that held."""

import http.server
import json
import os
import signal
import socket
import sys
import threading
import time

from paddock_client import PaddockClient, PaddockError

URL, TOKEN = os.environ["PADDOCK_URL"], os.environ["PADDOCK_TOKEN"]


def check(name, holds):
    if not holds:
        sys.exit(f"failed: {name}")
    print(name)


def refused(work):
    try:
        work()
    except PaddockError as error:
        return error
    return None


for wrong in ("ftp://a", "http://", "http://a:b", "http://a:0", "http://u:p@a", "a:80"):
    try:
        check(f"{wrong} is no address", not PaddockClient(wrong))
    except ValueError as error:
        check(f"{wrong} is no address", "'url'" in str(error))
check("a path may end as it will", PaddockClient(URL + "/v1/", TOKEN).exec("1").value == "1")

client = PaddockClient(URL, TOKEN)
with client.session(seed=1) as session:
    session.exec("x = 20")
    check("a session keeps its variables", session.exec("x + 1").value == "21")
    result = session.exec("print(input()); 1 / 0", stdin="in")
    check("what a program raises is a result", (result.status, result.ok, result.stdout) == ("error", False, "in\n"))
    check("with its traceback", "ZeroDivisionError" in result.error.traceback)
    late = session.exec("while True: pass", timeout=0.3)
    check("a program that is late keeps the session", (late.status, late.state_kept) == ("timeout", True))
    gone = session.exec("raise SystemExit(3)")
    check("exit codes are told", (gone.status, gone.exit_code) == ("exited", 3))
    pieces = []
    streamed = session.exec("for at in range(3): print(at, flush=True)\nx", on_output=lambda *piece: pieces.append(piece))
    check("output is told as it comes", "".join(text for _, text in pieces) == "0\n1\n2\n" == streamed.stdout)
    check("and the result is the same", streamed.value == "20")
    session.write_file("d/a.bin", bytes(range(256)))
    check("files go in and come back", session.read_file("d/a.bin") == bytes(range(256)))
    check("and are listed", session.list_files() == {"d/a.bin": 256})
    both = session.exec("open('out', 'w').write(open('in').read())", files={"in": "é"}, fetch_files=["out", "none"])
    half = session.exec("open('in').read()", files={"in": "\ud800é😀"})
    check("half a pair has a mark", half.value == "'\ufffdé😀'")
    huge = refused(lambda: session.write_file("huge", bytes(60_000_000)))
    check("too much is refused in words", (huge.status, huge.kind) == (413, "too_large"))
    check("also with a program", both.files == {"out": "é".encode()})
    missing = refused(lambda: session.read_file("none"))
    check("a missing file is an error", (missing.status, missing.kind) == (404, "not_found"))
    check("a path outside is one", refused(lambda: session.write_file("../a", "")).status == 422)
    check("no shell is one", "shell" in str(refused(lambda: session.shell("ls"))))
    outcomes = client.exec_batch(["2 + 2", {"code": "x", "session": session}, {"code": "1 / 0", "timeout": 5}])
    check("a batch is answered in order", [o.result.value or o.result.status for o in outcomes] == ["4", "20", "error"])
    session.reset("rewind")
    check("a reset session has no variables", session.exec("'x' in globals()").value == "False")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        session.exec("while True: pass", timeout=3000)
    except KeyboardInterrupt:
        check("Ctrl-C stops the program", session.exec("7").value == "7")
check("a session that was closed is gone", refused(lambda: session.exec("1")).kind == "not_found")
session.close()
check("one program needs no session", client.exec("6 * 7").value == "42")
check("graders have names", "gsm8k" in client.graders())
said = [{"role": "assistant", "content": "<answer>42</answer>"}]
check("a right answer is worth 1", client.grade("number_match", {"answer": "42"}, said).score == 1)
check("a wrong one 0", client.grade("number_match", {"answer": "41"}, said).score == 0)
check("what cannot be scored is None", client.grade("number_match", {}, said).score is None)
check("and the reason is told", "no tests" in str(client.grade("hidden_tests", {}, said).reason))
check("no token, no answer", refused(lambda: PaddockClient(URL).exec("1")).status == 401)
check("no server, no answer", refused(PaddockClient("http://127.0.0.1:1", retries=0).session).status is None)

with client.session(), client.session(), client.session():
    check("a full server is waited for", refused(lambda: client.session(wait=0)).status in (429, 504))


class Flaky(http.server.BaseHTTPRequestHandler):
    """Is busy, then breaks off, then answers; then breaks streams off."""

    ids = []
    streams = 0

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/stream"):
            Flaky.streams += 1
            return
        Flaky.ids.append(self.headers["x-request-id"])
        if len(Flaky.ids) == 1:
            return self.answer(503, {"error": {"type": "unavailable", "message": "later"}}, {"retry-after": "0"})
        if len(Flaky.ids) == 2:
            return None
        return self.answer(201, {"id": "s"}, {})

    def do_GET(self):
        self.answer(200, [], {})

    def do_DELETE(self):
        self.answer(500, {}, {})

    def answer(self, status, body, headers):
        contents = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(contents))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(contents)


class Slow:
    """A server of bytes: opens sessions and ends them, and answers the rest as `answer` does."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://%s:%d" % self.listener.getsockname()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.take, args=(connection,), daemon=True).start()

    def take(self, connection):
        with connection:
            head = connection.recv(1 << 16).split(b" HTTP")[0].decode()
            self.asked.append(head)
            if head == "POST /v1/sessions":
                return connection.sendall(b'HTTP/1.1 201 Created\r\ncontent-length: 11\r\n\r\n{"id": "s"}')
            if head.startswith("DELETE"):
                return connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            try:
                self.answer(connection)
            except OSError:
                pass  # it had enough


def drips(head):
    def answer(connection):
        connection.sendall(head)
        for _ in range(100):
            connection.sendall(b"x-a: b\r\n")
            time.sleep(0.05)

    return answer


def took(work):
    start = time.monotonic()
    error = refused(work)
    return error, time.monotonic() - start


class Nonsense(http.server.BaseHTTPRequestHandler):
    """Opens sessions, and answers whatever else it is asked with what it was given."""

    status, body, wait = 200, b"", "0"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        opens = self.path == "/v1/sessions"
        body = b'{"id": "s"}' if opens else Nonsense.body
        self.send_response(200 if opens else Nonsense.status)
        self.send_header("retry-after", Nonsense.wait)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nonsense) as nonsense:
    threading.Thread(target=nonsense.serve_forever, daemon=True).start()
    puzzled = PaddockClient(f"http://127.0.0.1:{nonsense.server_address[1]}", retries=1, backoff=0.01)
    with puzzled.session() as odd:
        Nonsense.body = b"[" * 200_000
        check("an answer of brackets is an error", "not JSON" in str(refused(lambda: odd.exec("1"))))
        Nonsense.body = b'event: stdout\ndata: {"text": "\xff"}\n\n'
        texts = []
        broken = refused(lambda: odd.exec("1", on_output=lambda _, text: texts.append(text)))
        check("bytes that are no text are told as such", (texts, broken.status) == (["\ufffd"], None))
        for Nonsense.wait in ("nan", "inf", "-5", "soon"):
            Nonsense.status, Nonsense.body = 503, b"[" * 200_000
            check(f"a wait of {Nonsense.wait} is none", refused(lambda: odd.exec("1")).retry_after is None)
        Nonsense.status, Nonsense.wait, Nonsense.body = 200, "0", b'event: ping\ndata: {}\n\n: note\n\n'
        unknown = refused(lambda: odd.exec("1", on_output=print))
        check("unknown events are passed over", "ended before the result" in str(unknown))
    nonsense.shutdown()

for name, head in (("headers", b"HTTP/1.1 200 OK\r\n"), ("bodies", b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n")):
    slow = Slow(drips(head))
    opened = PaddockClient(slow.url, retries=0, answer_timeout=0.3).session()
    for work in (lambda: opened.exec("1"), lambda: opened.read_file("a"), lambda: opened.exec("1", on_output=print)):
        error, seconds = took(work)
        check(f"{name} that come too slowly are given up", "within 0.3 s" in str(error) and seconds < 3)
    check("and stopped", any(asked.startswith("DELETE /v1/requests/") for asked in slow.asked))
    slow.listener.close()

short = Slow(lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"))
opened = PaddockClient(short.url, retries=1, backoff=0.01).session()
check("half a file is none", "IncompleteRead" in str(refused(lambda: opened.read_file("a"))))
check("and is asked for again", short.asked.count("GET /v1/sessions/s/file?path=a") == 2)
short.listener.close()

gateway = Slow(lambda connection: connection.sendall(b"HTTP/1.1 502 Bad\r\nretry-after: 0\r\n\r\n"))
opened = PaddockClient(gateway.url, retries=2, backoff=0.01).session()
refused(lambda: opened.exec("1", on_output=print))
check("a stream is not sent again through a gateway", gateway.asked.count("POST /v1/sessions/s/stream") == 1)
refused(lambda: opened.exec("1"))
check("a program is, with its id", gateway.asked.count("POST /v1/sessions/s/exec") == 3)
gateway.listener.close()

with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky) as flaky:
    threading.Thread(target=flaky.serve_forever, daemon=True).start()
    unsteady = PaddockClient(f"http://127.0.0.1:{flaky.server_address[1]}", backoff=0.01)
    with unsteady.session() as opened:
        check("requests are sent again with their id", (opened.id, len(Flaky.ids), len(set(Flaky.ids))) == ("s", 3, 1))
        broken = refused(lambda: opened.exec("1", on_output=print))
        check("streams are not", (Flaky.streams, broken.status) == (1, None))
        check("an answer that is none is an error", "response is invalid" in str(refused(lambda: opened.exec("1"))))
        check("whatever it is", "not an object" in str(refused(unsteady.graders)))
    flaky.shutdown()
