#!/usr/bin/env bash
# Jinja2 3.1.6 (PyPI).
#
# Guess: ** binds as in Python, from the right and tighter than a sign before it, since expressions of Jinja2 are
# compiled to Python.
# Seen: ** binds from the left, and a sign belongs to the base.
#
#   expression     Jinja2    Python
#   2 ** 3 ** 2    64        512
#   -2 ** 2        4         -4
#   -2 | abs       2         (a filter takes the signed number too)
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jinja2==3.1.6 markupsafe==3.0.3
"$folder/venv/bin/python" - <<'PYTHON'
import jinja2

seen = [jinja2.Environment().from_string("{{ " + text + " }}").render() for text in ("2 ** 3 ** 2", "-2 ** 2", "-2 | abs")]
print(seen, [2 ** 3 ** 2, -2 ** 2])
assert seen == ["64", "4", "2"], seen
PYTHON
