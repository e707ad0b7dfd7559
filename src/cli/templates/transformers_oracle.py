"""Renders templates as transformers does. Reads lines of JSON, writes one line of JSON for each.

The first line that is written names the versions. A case is {"template": text, "variables": {...}}, a result is
{"text": text} or {"error": text}. A case that takes longer than SECONDS is an error, where the system has timers.
"""

import json
import os
import signal
import sys

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import jinja2
import transformers
from transformers.utils import chat_template_utils

compile_template = chat_template_utils._compile_jinja_template
SECONDS = 5


class Timeout(BaseException):  # Jinja2 catches exceptions while it computes constants
    pass


def interrupt(*_):
    raise Timeout(f"more than {SECONDS} seconds")


def start_timer(seconds):
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def render(case):
    try:
        start_timer(SECONDS)
        text = compile_template(case["template"]).render(**case["variables"])
        text.encode()  # an unpaired surrogate could not be encoded by a tokenizer
        return {"text": text}
    except (Exception, Timeout) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        start_timer(0)


if hasattr(signal, "SIGALRM"):
    signal.signal(signal.SIGALRM, interrupt)
print(json.dumps({"jinja2": jinja2.__version__, "transformers": transformers.__version__}), flush=True)
for line in sys.stdin:
    print(json.dumps(render(json.loads(line))), flush=True)
