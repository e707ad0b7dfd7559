#!/usr/bin/env bash
# trl 1.16.0 (PyPI), its copies of Gemma 4's chat template, and Jinja2 3.1.6.
#
# Guess: a chat template that writes the arguments of a call in a form of its own writes null like true and false, in
# lower case as JSON does.
# Seen: some of the templates write {"a": true, "z": null} as a:true,z:None. A parser of the scalars of JSON refuses the
# call that the model was trained to write.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check jinja2==3.1.6 markupsafe==3.0.3
"$folder/env/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$folder" trl==1.16.0
"$folder/env/bin/python" - "$folder" <<'PYTHON'
import glob
import re
import sys
import zipfile

from jinja2.sandbox import ImmutableSandboxedEnvironment

call = {"type": "function", "function": {"name": "f", "arguments": {"a": True, "z": None}}}
chat = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "", "tool_calls": [call]}]
wheel = zipfile.ZipFile(glob.glob(f"{sys.argv[1]}/trl-*.whl")[0])
seen = {}
for name in sorted(wheel.namelist()):
    if not re.search(r"gemma4[^/]*\.jinja$", name):
        continue
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.globals["raise_exception"] = lambda text: (_ for _ in ()).throw(ValueError(text))
    source = re.sub(r"\{%-?\s*(?:end)?generation\s*-?%\}", "", wheel.read(name).decode())
    text = environment.from_string(source).render(messages=chat, tools=None, bos_token="<bos>", add_generation_prompt=False)
    written = re.search(r"call:f\{(.*?)\}", text)
    seen[name.rsplit("/", 1)[-1]] = written and written.group(1)
    print(name.rsplit("/", 1)[-1], "->", written and written.group(1))
raise SystemExit(not any(text and "a:true" in text and "z:None" in text for text in seen.values()))
PYTHON
