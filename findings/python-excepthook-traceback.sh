#!/usr/bin/env bash
# CPython 3.11 and 3.13 (seen: 3.11.7, 3.13.0). No package.
#
# Guess: sys.__excepthook__(type, value, traceback) prints the traceback that the caller passes, so that an own
# excepthook can shorten the traceback first.
# Seen: the third argument is ignored if the exception has a __traceback__ already, which each raised exception has.
# error.with_traceback(shorter) has the effect, whatever the third argument is.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/hook.py" <<'PYTHON'
import io
import sys


def fail():
    1 / 0


def printed(error, trace):
    earlier, sys.stderr = sys.stderr, io.StringIO()
    sys.__excepthook__(type(error), error, trace)
    text, sys.stderr = sys.stderr.getvalue(), earlier
    return text


try:
    fail()
except ZeroDivisionError as error:
    shorter = error.__traceback__.tb_next
    seen = ["in <module>" in printed(error, shorter), "in <module>" in printed(error.with_traceback(shorter), None)]
print(sys.version.split()[0], seen)
assert seen == [True, False], seen
PYTHON
python3 "$folder/hook.py"
