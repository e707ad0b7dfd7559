#!/usr/bin/env bash
# Jinja2 3.1.6 (PyPI).
#
# Guess: an expression of constants means the same, whether the template engine computes it early or late.
# Seen: {{ 1e999 }} prints inf, and {{ 1e999 + x }} raises NameError: name 'inf' is not defined. The compiler writes
# constants into the Python that it generates by their repr, but inf and nan are no names of Python. The optimizer
# makes constants of filters, so that ('inf'|float) + x raises too, and is inf without the optimizer.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check jinja2==3.1.6 markupsafe==3.0.3
"$folder/env/bin/python" - <<'PYTHON'
from jinja2 import Environment

seen = []
for optimized in (True, False):
    for template in ("{{ 1e999 }}", "{{ 1e999 + x }}", "{{ ('inf'|float) + x }}"):
        try:
            text = Environment(optimized=optimized).from_string(template).render(x=1)
        except NameError as error:
            text = f"NameError: {error}"
        seen.append(text)
        print(f"optimized={optimized} {template} -> {text}")
missing = "NameError: name 'inf' is not defined"
raise SystemExit(seen != ["inf", missing, missing, "inf", missing, "inf"])
PYTHON
