"""Drives the tools of paddock.Client against the server of $PADDOCK_URL. Each line of the output is a check."""

import asyncio
import http.server
import json
import os
import sys
import threading
import time
from typing import Annotated, Any, Dict, List, Literal, Optional, Tuple, Union

import paddock.client
from paddock import Client, PaddockError

URL, TOKEN = os.environ["PADDOCK_URL"], os.environ["PADDOCK_TOKEN"]


def check(name, holds):
    if not holds:
        sys.exit(f"failed: {name}")
    print(name)


def spec_of(tool):
    return paddock.client._tool_spec(tool, None)


def schemas_of(tool):
    return spec_of(tool)["parameters"]["properties"]


def refusal_of(work, *kinds):
    try:
        work()
    except kinds as error:
        return str(error)
    return None


def everything(
    text: str,
    whole: int,
    real: float,
    yes: bool,
    names: List[str],
    pair: Tuple[int, str],
    many: Tuple[int, ...],
    table: Dict[str, List[float]],
    maybe: Optional[int],
    either: Union[int, str],
    word: Literal["a", 1, None],
    told: Annotated[str, "what to say"],
    anything: Any,
    untyped,
    bare: dict,
    given: int = 3,
    nothing: Optional[str] = None,
    *,
    named: bool = False,
):
    """Says it.

    All of it.
    """


schemas = schemas_of(everything)
check("plain types", [schemas[name] for name in ("text", "whole", "real", "yes", "bare")] == [
    {"type": kind} for kind in ("string", "integer", "number", "boolean", "object")
])
check("lists and dicts", (schemas["names"], schemas["table"]) == (
    {"type": "array", "items": {"type": "string"}},
    {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number"}}},
))
check("tuples", (schemas["pair"]["prefixItems"], schemas["pair"]["maxItems"], schemas["many"]["items"]) == (
    [{"type": "integer"}, {"type": "string"}], 2, {"type": "integer"},
))
check("optional and union types", [[part["type"] for part in schemas[name]["anyOf"]] for name in ("maybe", "either")] == [
    ["integer", "null"], ["integer", "string"],
])
check("literals", schemas["word"] == {"enum": ["a", 1, None]})
check("descriptions", schemas["told"] == {"type": "string", "description": "what to say"})
check("any type", schemas["anything"] == schemas["untyped"] == {})
check("default values", (schemas["given"], schemas["named"]["default"]) == ({"type": "integer", "default": 3}, False))
required = spec_of(everything)["parameters"]["required"]
check("parameters without a default are required", "untyped" in required and not {"given", "nothing", "named"} & set(required))
check("the docstring is the description", spec_of(everything)["description"] == "Says it.\n\nAll of it.")
if sys.version_info >= (3, 10):

    def with_bar(x: "int | None" = None): ...

    check("types with |", [part["type"] for part in schemas_of(with_bar)["x"]["anyOf"]] == ["integer", "null"])


def with_set(x: set): ...
def with_keys(x: Dict[int, str]): ...
def with_star(*x): ...
def with_stars(**x): ...
def with_position(x, /): ...


for wrong in (with_set, with_keys, with_star, with_stars, with_position, lambda x: x, print, 5, "text"):
    name = getattr(wrong, "__name__", repr(wrong))
    check(f"{name} is refused as a tool", "Cannot offer" in str(refusal_of(lambda: spec_of(wrong), TypeError, ValueError)))


class Shop:
    def __init__(self):
        self.sold = []

    def sell(self, thing: str, count: int = 1) -> dict:
        """Sells things."""
        self.sold.append((thing, count))
        return {"sold": [thing] * count, "left": None}


def fail(how: Literal["key", "exit", "set", "nan", "big", "huge", "many", "long"]):
    if how == "key":
        raise KeyError("no such thing")
    if how == "exit":
        sys.exit(3)
    if how == "long":
        raise ValueError("x" * 1_000_000)
    values = {"set": {1}, "nan": float("nan"), "big": [{"a": 2**53 + 1}], "huge": "x" * 40_000_000, "many": [0] * 200_000}
    return values[how]


def larger(n: int) -> int:
    return n + 1


async def later(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"


barrier = threading.Barrier(32)


def together(at: int) -> int:
    barrier.wait(60)
    return at * at


PRELUDE = "from paddock import tools, ToolError\n"
ERROR = PRELUDE + "try:\n    tools.{}\n    error = ''\nexcept ToolError as e:\n    error = str(e)\nerror"

client = Client(URL, TOKEN)
shop = Shop()
with client.session(tools=[shop.sell, fail, larger, later, together], tool_timeout=20) as session:
    result = session.exec(PRELUDE + "[tools.sell('tea', count=2), tools.sell(thing='cake')]")
    check("a program calls a function of this process", result.value_json == [
        {"sold": ["tea", "tea"], "left": None}, {"sold": ["cake"], "left": None}
    ])
    check("the function ran here", shop.sold == [("tea", 2), ("cake", 1)])
    check("a coroutine function is awaited", session.exec(PRELUDE + "tools.later(0.01)").value == "'done'")
    error_of = lambda call: session.exec(ERROR.format(call), timeout=60).value_json
    check("an exception is raised in the program", error_of("fail('key')") == "KeyError: 'no such thing'")
    check("SystemExit is an exception too", error_of("fail('exit')") == "SystemExit: 3")
    check("a value that is no JSON is an error", error_of("fail('set')").startswith("TypeError: "))
    check("nan is an error", error_of("fail('nan')").startswith("ValueError: "))
    digits = session.exec(PRELUDE + f"values = tools.fail('big'), tools.larger({2**60}), tools.larger({10**30})\nvalues")
    check("integers keep their digits in both directions", digits.value == repr(([{"a": 2**53 + 1}], 2**60 + 1, 10**30 + 1)))
    given = session.exec("(n, m['n'])", inputs={"n": 2**64 + 1, "m": {"n": -(2**60)}})
    check("so do inputs", given.value == repr((2**64 + 1, -(2**60))))
    check("a value that is too large is an error", "at most" in error_of("fail('huge')"))
    check("a value with too many parts is an error", "values" in error_of("fail('many')"))
    check("a long message is cut", len(error_of("fail('long')")) == 65_536)
    check("wrong arguments are not sent", error_of("sell('tea', count='2')").startswith("wrong arguments for 'sell'"))
    check("further arguments are not sent", error_of("sell('tea', more=1)").startswith("wrong arguments for 'sell'"))
    check("the function did not run for them", len(shop.sold) == 2)
    pieces = []
    program = PRELUDE + "print('a', flush=True)\ntools.sell('x')\nprint('b', flush=True)"
    session.exec(program, on_output=lambda *piece: pieces.append(piece))
    check("output is streamed beside calls", "".join(text for _, text in pieces) == "a\nb\n")
    threads = PRELUDE + """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(32) as pool:
    squares = list(pool.map(lambda at: tools.together(at=at), range(32)))
squares"""
    check("32 threads call at once", session.exec(threads, timeout=60).value_json == [at * at for at in range(32)])
    late = session.exec(PRELUDE + "tools.later(5)", timeout=0.5)
    check("a timeout of the program ends its calls", (late.status, late.state_kept) == ("timeout", True))
    check("the session goes on", session.exec(PRELUDE + "tools.sell('z')['sold']").value_json == ["z"])

entered, leave = threading.Event(), threading.Event()


def never() -> None:
    entered.set()
    leave.wait(60)


def quick() -> str:
    return "now"


with client.session(tools=[never, quick], tool_timeout=0.5) as session:
    errors = session.exec(ERROR.format("never()") + "\n[error, tools.quick()]").value_json
    check("a call without an answer fails", errors[0] == "the client did not answer the call of 'never' within 500 ms")
    check("a function that does not end delays no other call", errors[1] == "now")
    leave.set()
    check("its late answer changes nothing", session.exec("1 + 1").value == "2")
check("two tools of one name are refused", "unique" in refusal_of(lambda: client.session(tools=[never, never]), PaddockError))
left = [thread for thread in threading.enumerate() if thread.name == "paddock-tool"]
for thread in left:
    thread.join(10)
check("threads end with their program", not any(thread.is_alive() for thread in left))


class Hostile(http.server.BaseHTTPRequestHandler):
    """Opens sessions and streams the events of the class attribute. It refuses answers."""

    events, answers = [], []

    def log_message(self, *_):
        pass

    def do_DELETE(self):
        self.answer(204, b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/v1/sessions":
            return self.answer(201, b'{"id": "s"}')
        if "/calls/" in self.path:
            Hostile.answers.append((self.path, json.loads(body)))
            return self.answer(409, b"{}")
        self.send_response(200)
        self.end_headers()
        for name, data in Hostile.events:
            self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
            time.sleep(0.05)
        return None

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
threading.Thread(target=server.serve_forever, daemon=True).start()
RESULT = {"status": "ok", "stdout": "", "stderr": "", "durationMs": 1, "stateKept": True, "truncated": False}


def run_events(*events):
    Hostile.events, Hostile.answers = list(events), []
    with Client("http://127.0.0.1:%d" % server.server_port, retries=0).session(tools=[shop.sell]) as session:
        return session.exec("1")


calls = [("call", {"callId": f"../{at}", "name": name, "arguments": arguments}) for at, (name, arguments) in enumerate([
    ("unlink", {}), ("__class__", {}), ("sell", ["tea"]), ("sell", None), ("sell", {"more": 1}),
])]
check("hostile calls are answered with errors", run_events(*calls, ("cancel", {"callId": "none"}), ("result", RESULT)).ok)
check("they reach no other path", {path.split("/calls/")[1] for path, _ in Hostile.answers} <= {f"..%2F{at}" for at in range(5)})
check("they call nothing else", all("error" in answer for _, answer in Hostile.answers))
for event in (("call", {"callId": 1}), ("call", {}), ("cancel", {}), ("call", [])):
    check(f"the event {event} is refused", refusal_of(lambda: run_events(event, ("result", RESULT)), PaddockError))
server.shutdown()
server.server_close()
print("tools are checked")
