#!/usr/bin/env bash
# math-verify 0.9.0 with latex2sympy2-extended 1.11.0, sympy 1.14.0 and antlr4-python3-runtime 4.13.2 (PyPI).
#
# Guess: verify(parse(gold), parse(reply)) says whether two answers are equal, so a reply that states something false
# is refused, and an answer that cannot be read is no number.
# Seen:
#
#   gold         reply        verify    read as
#   3            1 2          True      1 + 2, as a mixed number without a fraction
#   2            3+3=2        True      the right side of a false equation
#   1/3          0.33333333   True      equal up to six digits
#   50\%         50           True      the percent sign is tried both ways
#   9:00 PM is read as infinity: the colon divides 9 by 0.
#
# A reward that pays for verify() alone pays these replies.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  math-verify==0.9.0 latex2sympy2-extended==1.11.0 sympy==1.14.0 antlr4-python3-runtime==4.13.2
"$folder/venv/bin/python" - <<'PYTHON'
from math_verify import parse, verify

pairs = [("3", "1 2"), ("2", "3+3=2"), (r"\frac{1}{3}", "0.33333333"), (r"50\%", "50")]
seen = [verify(parse(f"${gold}$"), parse(f"${reply}$")) for gold, reply in pairs]
time = str(parse("$9:00$ PM")[0])
print(list(zip(pairs, seen)), time)
assert seen == [True] * 4 and time == "zoo", (seen, time)
PYTHON
