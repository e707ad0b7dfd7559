#!/usr/bin/env bash
# Jinja2 3.1.6 (PyPI) with the extension jinja2.ext.loopcontrols, which transformers turns on for chat templates.
#
# Guess: as in Python, the else of a for loop runs if the loop was not left by break; or, as Jinja's manual says,
# if there was no iteration.
# Seen: the else block runs if no iteration reached its end. A loop over two items whose iterations all end by
# continue runs the else block, and so does a loop whose first iteration ends by break. The text that these
# iterations wrote is there as well.
#
#   12none      every iteration continues
#   1none       the first iteration breaks
#   12          the second iteration reaches its end
#
# A chat template that skips system messages by continue, with an else block for an empty chat, writes both.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jinja2==3.1.6 markupsafe==3.0.3
"$folder/venv/bin/python" - <<'PYTHON'
import jinja2

environment = jinja2.Environment(extensions=["jinja2.ext.loopcontrols"])


def rendered(body):
    return environment.from_string("{% for x in [1, 2] %}{{ x }}" + body + "{% else %}none{% endfor %}").render()


seen = [
    rendered("{% continue %}"),
    rendered("{% break %}"),
    rendered("{% if x == 1 %}{% continue %}{% endif %}"),
]
print("\n".join(seen))
assert seen == ["12none", "1none", "12"], seen
PYTHON
