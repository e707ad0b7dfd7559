"""Renders templates as transformers does. Reads lines of JSON, writes one line of JSON for each.

The first line that is written names the versions. A case is {"template": text, "variables": {...}}, a result is
{"text": text} or {"error": text}.
"""

import json
import os
import sys

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import jinja2
import transformers
from transformers.utils import chat_template_utils

compile_template = chat_template_utils._compile_jinja_template


def render(case):
    try:
        text = compile_template(case["template"]).render(**case["variables"])
        text.encode()  # an unpaired surrogate could not be encoded by a tokenizer
        return {"text": text}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


print(json.dumps({"jinja2": jinja2.__version__, "transformers": transformers.__version__}), flush=True)
for line in sys.stdin:
    print(json.dumps(render(json.loads(line))), flush=True)
