"""Drives paddock.Client against the server of $PADDOCK_URL. Each line of the output is a check that passed."""

import array
import http.server
import json
import os
import signal
import socket
import sys
import threading
import time

from paddock import Client, PaddockError

URL, TOKEN = os.environ["PADDOCK_URL"], os.environ["PADDOCK_TOKEN"]


def check(name, holds):
    if not holds:
        sys.exit(f"failed: {name}")
    print(name)


def error_of(work):
    try:
        work()
    except PaddockError as error:
        return error
    return None


for wrong in ("ftp://a", "http://", "http://a:b", "http://a:0", "http://u:p@a", "a:80"):
    try:
        check(f"{wrong} is refused as a URL", not Client(wrong))
    except ValueError as error:
        check(f"{wrong} is refused as a URL", "'url'" in str(error))
check("a URL may end with /v1/", Client(URL + "/v1/", TOKEN).exec("1").value == "1")

client = Client(URL, TOKEN)
with client.session(seed=1) as session:
    session.exec("x = 20")
    check("a session keeps its variables", session.exec("x + 1").value == "21")
    result = session.exec("print(input()); 1 / 0", stdin="in")
    check("an exception is a result", (result.status, result.ok, result.stdout) == ("error", False, "in\n"))
    check("the result has a traceback", "ZeroDivisionError" in result.error.traceback)
    late = session.exec("while True: pass", timeout=0.3)
    check("a timeout keeps the session", (late.status, late.state_kept) == ("timeout", True))
    exited = session.exec("raise SystemExit(3)")
    check("a result has the exit code", (exited.status, exited.exit_code) == ("exited", 3))
    pieces = []
    streamed = session.exec("for at in range(3): print(at, flush=True)\nx", on_output=lambda *piece: pieces.append(piece))
    check("output is streamed", "".join(text for _, text in pieces) == "0\n1\n2\n" == streamed.stdout)
    check("a streamed program has the same result", streamed.value == "20")
    session.write_file("d/a.bin", bytes(range(256)))
    check("files can be written and read", session.read_file("d/a.bin") == bytes(range(256)))
    check("files can be listed", session.list_files() == {"d/a.bin": 256})
    both = session.exec("open('out', 'w').write(open('in').read())", files={"in": "é"}, fetch_files=["out", "none"])
    half = session.exec("open('in').read()", files={"in": "\ud800é😀"})
    check("an unpaired surrogate is replaced", half.value == "'\ufffdé😀'")
    huge = error_of(lambda: session.write_file("huge", bytes(60_000_000)))
    check("a large request is refused", (huge.status, huge.kind) == (413, "too_large"))
    check("a program can read and write files", both.files == {"out": "é".encode()})
    missing = error_of(lambda: session.read_file("none"))
    check("a missing file is an error", (missing.status, missing.kind) == (404, "not_found"))
    check("a path outside the working directory is an error", error_of(lambda: session.write_file("../a", "")).status == 422)
    check("a missing shell is an error", "shell" in str(error_of(lambda: session.shell("ls"))))
    given = {"n": [1, {"a": None}], "raw": b"\0\xff", "half": array.array("d", [0.5, -1]), "big": array.array("Q", [2**64 - 1])}
    result = session.exec("[n, list(raw), half.typecode, list(half), list(big) == [2**64 - 1]]", inputs=given)
    check("inputs are globals, and the value is data", result.value_json == [[1, {"a": None}], [0, 255], "d", [0.5, -1], True])
    check("a value that is no data has no JSON", session.exec("raw", inputs={"raw": memoryview(b"a")}).value_json is None)
    shown = session.exec("display(1)\ndisplay({'text/html': '<b>', 'text/plain': 'b'}, raw=True)")
    check("shown objects are returned in order", shown.display == [{"text/plain": "1"}, {"text/html": "<b>", "text/plain": "b"}])
    check("a program that shows nothing has none", (session.exec("1").display, shown.dropped_displays) == ([], 0))
    check("a name that is no identifier is refused", error_of(lambda: session.exec("1", inputs={"a b": 1})).status == 422)
    outcomes = client.exec_batch([{"code": "x + 1", "inputs": {"x": 1}}])
    check("programs of a batch take inputs", outcomes[0].result.value_json == 2)
    outcomes = client.exec_batch(["2 + 2", {"code": "x", "session": session}, {"code": "1 / 0", "timeout": 5}])
    check("a batch returns outcomes in order", [o.result.value or o.result.status for o in outcomes] == ["4", "20", "error"])
    session.reset("rewind")
    check("a reset session has no variables", session.exec("'x' in globals()").value == "False")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        session.exec("while True: pass", timeout=3000)
    except KeyboardInterrupt:
        check("Ctrl-C stops the program", session.exec("7").value == "7")
check("a closed session is not found", error_of(lambda: session.exec("1")).kind == "not_found")
session.close()
check("a program can run without a session", client.exec("6 * 7").value == "42")
pieces = []
streamed = client.exec("print('a', flush=True)\n1", on_output=lambda *piece: pieces.append(piece))
check("a program without a session is streamed", ("".join(text for _, text in pieces), streamed.value) == ("a\n", "1"))
options = {"ttl": 60, "timeout": 0.5, "memory_bytes": 128 << 20, "metadata": {"user": "ada & co"}}
with client.session(**options) as session:
    [found] = client.sessions({"user": "ada & co"})
    check("sessions are found by metadata", (found["id"], found["metadata"]["user"]) == (session.id, "ada & co"))
    check("a session has limits", found["limits"] == {"timeoutMs": 500, "memoryBytes": 128 << 20})
    check("no session has other metadata", client.sessions({"user": "eve"}) == [])
    check("the timeout of a session ends its programs", session.exec("while True: pass").status == "timeout")
    check("the memory of a session is limited", session.exec("x = bytearray(200 << 20)").status == "memory")
    session.make_dir("d/e f&g")
    session.write_file("d/é.txt", "hi")
    listed = [(entry["path"], entry["type"], entry["bytes"]) for entry in session.list_dir("d")]
    check("folders are listed", listed == [("d/e f&g", "directory", 0), ("d/é.txt", "file", 2)])
    check("a full folder stays", error_of(lambda: session.remove("d")).status == 422)
    session.remove("d/e f&g")
    session.remove("d", recursive=True)
    check("files are removed", session.list_dir() == [])
check("graders are listed", "gsm8k" in client.graders())
messages = [{"role": "assistant", "content": "<answer>42</answer>"}]
check("a right answer scores 1", client.grade("number_match", {"answer": "42"}, messages).score == 1)
check("a wrong answer scores 0", client.grade("number_match", {"answer": "41"}, messages).score == 0)
check("a missing score is None", client.grade("number_match", {}, messages).score is None)
check("a missing score has a reason", "no instructions" in str(client.grade("ifeval", {}, messages).reason))
check("a missing token is refused", error_of(lambda: Client(URL).exec("1")).status == 401)
nowhere = error_of(Client("http://127.0.0.1:1", retries=0).session)
check("an unreachable server is an error", nowhere.status is None and "'paddock serve' starts one" in str(nowhere))

with client.session(), client.session(), client.session():
    check("a full server is reported after the wait", error_of(lambda: client.session(wait=0)).status in (429, 504))


class Flaky(http.server.BaseHTTPRequestHandler):
    """Responds with 503, then disconnects, then responds. Streams are always disconnected."""

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


class Busy(http.server.BaseHTTPRequestHandler):
    """Responds to grades with the 504 of a busy server six times, and then with a score."""

    tries = 0

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        Busy.tries += 1
        busy = {"error": {"type": "timeout", "message": "No grade slot was free"}}
        contents = json.dumps(busy if Busy.tries <= 6 else {"score": 1, "parts": {}}).encode()
        self.send_response(504 if Busy.tries <= 6 else 200)
        self.send_header("content-length", str(len(contents)))
        self.end_headers()
        self.wfile.write(contents)


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy) as busy:
    threading.Thread(target=busy.serve_forever, daemon=True).start()
    patient = Client(f"http://127.0.0.1:{busy.server_address[1]}", retries=1, backoff=0.01)
    check("a grade waits for a busy server", (patient.grade("gsm8k", {}, []).score, Busy.tries) == (1, 7))
    busy.shutdown()


class Slow:
    """A raw server that opens and ends sessions. `answer` handles all other requests."""

    def __init__(self, answer):
        self.answer, self.requests = answer, []
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
            self.requests.append(head)
            if head == "POST /v1/sessions":
                return connection.sendall(b'HTTP/1.1 201 Created\r\ncontent-length: 11\r\n\r\n{"id": "s"}')
            if head.startswith("DELETE"):
                return connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            try:
                self.answer(connection)
            except OSError:
                pass  # the client has disconnected


def drips(head):
    def answer(connection):
        connection.sendall(head)
        for _ in range(100):
            connection.sendall(b"x-a: b\r\n")
            time.sleep(0.05)

    return answer


def took(work):
    start = time.monotonic()
    error = error_of(work)
    return error, time.monotonic() - start


class Fixed(http.server.BaseHTTPRequestHandler):
    """Opens sessions. All other requests get the response in the class attributes."""

    status, body, wait = 200, b"", "0"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        opens = self.path == "/v1/sessions"
        body = b'{"id": "s"}' if opens else Fixed.body
        self.send_response(200 if opens else Fixed.status)
        self.send_header("retry-after", Fixed.wait)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fixed) as nonsense:
    threading.Thread(target=nonsense.serve_forever, daemon=True).start()
    puzzled = Client(f"http://127.0.0.1:{nonsense.server_address[1]}", retries=1, backoff=0.01)
    with puzzled.session() as odd:
        Fixed.body = b"[" * 200_000
        check("deeply nested JSON is an error", "not JSON" in str(error_of(lambda: odd.exec("1"))))
        Fixed.body = b'event: stdout\ndata: {"text": "\xff"}\n\n'
        texts = []
        broken = error_of(lambda: odd.exec("1", on_output=lambda _, text: texts.append(text)))
        check("invalid UTF-8 is replaced", (texts, broken.status) == (["\ufffd"], None))
        for Fixed.wait in ("nan", "inf", "-5", "soon"):
            Fixed.status, Fixed.body = 503, b"[" * 200_000
            check(f"a retry-after of {Fixed.wait} is ignored", error_of(lambda: odd.exec("1")).retry_after is None)
        Fixed.status, Fixed.wait, Fixed.body = 200, "0", b'event: ping\ndata: {}\n\n: note\n\n'
        unknown = error_of(lambda: odd.exec("1", on_output=print))
        check("unknown events are ignored", "ended before the result" in str(unknown))
    nonsense.shutdown()

for name, head in (("headers", b"HTTP/1.1 200 OK\r\n"), ("bodies", b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n")):
    slow = Slow(drips(head))
    opened = Client(slow.url, retries=0, answer_timeout=0.3).session()
    for work in (lambda: opened.exec("1"), lambda: opened.read_file("a"), lambda: opened.exec("1", on_output=print)):
        error, seconds = took(work)
        check(f"slow {name} exceed the timeout", "within 0.3 s" in str(error) and seconds < 3)
    check("a request is cancelled after its timeout", any(request.startswith("DELETE /v1/requests/") for request in slow.requests))
    slow.listener.close()

short = Slow(lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"))
opened = Client(short.url, retries=1, backoff=0.01).session()
check("an incomplete file is an error", "IncompleteRead" in str(error_of(lambda: opened.read_file("a"))))
check("an incomplete file is requested again", short.requests.count("GET /v1/sessions/s/file?path=a") == 2)
short.listener.close()

gateway = Slow(lambda connection: connection.sendall(b"HTTP/1.1 502 Bad\r\nretry-after: 0\r\n\r\n"))
opened = Client(gateway.url, retries=2, backoff=0.01).session()
error_of(lambda: opened.exec("1", on_output=print))
check("a stream is not retried after a gateway error", gateway.requests.count("POST /v1/sessions/s/stream") == 1)
error_of(lambda: opened.exec("1"))
check("a program is retried with its id", gateway.requests.count("POST /v1/sessions/s/exec") == 3)
gateway.listener.close()

with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky) as flaky:
    threading.Thread(target=flaky.serve_forever, daemon=True).start()
    unsteady = Client(f"http://127.0.0.1:{flaky.server_address[1]}", backoff=0.01)
    with unsteady.session() as opened:
        check("requests are retried with their id", (opened.id, len(Flaky.ids), len(set(Flaky.ids))) == ("s", 3, 1))
        broken = error_of(lambda: opened.exec("1", on_output=print))
        check("streams are not retried", (Flaky.streams, broken.status) == (1, None))
        check("an invalid response is an error", "response is invalid" in str(error_of(lambda: opened.exec("1"))))
        check("a response must be an object", "not an object" in str(error_of(unsteady.graders)))
    flaky.shutdown()
