"""Renders templates as transformers does. Reads lines of JSON, writes one line of JSON for each.

The first line that is written names the versions. A case is {"template": text, "variables": {...}}, a result is
{"text": text} or {"error": text}. With "now": [year, month, day, hour, minute, second], strftime_now shows this time. A
case that takes longer than SECONDS is an error. Such a case can be one operation of
C, such as a power, which no handler of Python interrupts. The system then ends the process that renders, and a new
process renders the next case. Systems without fork have no limit.
"""

import json
import os
import signal
import sys
from datetime import datetime

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import jinja2
import transformers
from transformers.utils import chat_template_utils

compile_template = chat_template_utils._compile_jinja_template
SECONDS = 5
MEMORY_BYTES = 8 * 1024**3


class Clock(datetime):
    """The time that a case gives, or the current time."""

    fields = None

    @classmethod
    def now(cls, tz=None):
        return super().now(tz) if cls.fields is None else datetime(*cls.fields)


chat_template_utils.datetime = Clock


def render(case):
    Clock.fields = case.get("now")
    try:
        text = compile_template(case["template"]).render(**case["variables"])
        text.encode()  # an unpaired surrogate could not be encoded by a tokenizer
        return {"text": text}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


class Renderer:
    """A process that renders one case after another, and ends at the first that takes too long."""

    def __init__(self):
        case_reader, self.cases = pipe()
        self.results, result_writer = pipe()
        self.process = os.fork()
        if self.process == 0:
            self.cases.close()
            serve(case_reader, result_writer)
            os._exit(0)
        case_reader.close()
        result_writer.close()

    def render(self, line):
        """Returns a line; None if the process has ended."""
        print(line, end="", file=self.cases, flush=True)
        return self.results.readline() or None

    def close(self):
        self.cases.close()
        self.results.close()
        os.waitpid(self.process, 0)


def pipe():
    reader, writer = os.pipe()
    return os.fdopen(reader, encoding="utf-8"), os.fdopen(writer, "w", encoding="utf-8")


def serve(cases, results):
    import resource

    for number in (0, 1):  # the caller waits for the end of its pipes, not of this process
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.RLIM_INFINITY))
    for line in iter(cases.readline, ""):
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        answer = json.dumps(render(json.loads(line)))
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(answer, file=results, flush=True)


def render_bounded():
    renderer = Renderer()
    for line in sys.stdin:
        answer = renderer.render(line)
        if answer is None:
            renderer.close()
            renderer = Renderer()
            answer = json.dumps({"error": f"Timeout: more than {SECONDS} seconds"}) + "\n"
        print(answer, end="", flush=True)
    renderer.close()


print(json.dumps({"jinja2": jinja2.__version__, "transformers": transformers.__version__}), flush=True)
if hasattr(os, "fork"):
    render_bounded()
else:
    for line in sys.stdin:
        print(json.dumps(render(json.loads(line))), flush=True)
