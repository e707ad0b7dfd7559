#!/usr/bin/env bash
# Node 20 or newer with any version of V8, and Python 3.11 or newer.
#
# Guess: 2 ** 64 is a power of two, which a double holds exactly. JSON carries the number from JavaScript to Python as the
# same integer.
# Seen: JSON.stringify writes the fewest digits that JavaScript reads back as the same double: 18446744073709552000. Python
# reads these digits as another integer, 384 above. From 1e21 on JSON.stringify writes an exponent, and Python reads a
# float. BigInt(value) has the right digits.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
node --eval '
  const values = [2 ** 53, 2 ** 64, 2 ** 70];
  console.log(JSON.stringify({ numbers: values, digits: values.map((value) => String(BigInt(value))) }));
' > "$folder/values.json"
cat > "$folder/main.py" <<'PYTHON'
import json
import sys

with open(sys.argv[1]) as file:
    values = json.load(file)
differences = [number - int(digits) for number, digits in zip(values["numbers"], values["digits"])]
print("numbers of JSON:", values["numbers"])
print("exact integers: ", values["digits"])
print("differences:    ", differences, [type(number).__name__ for number in values["numbers"]])
assert differences[:2] == [0, 384]
assert isinstance(values["numbers"][2], float)
PYTHON
python3 "$folder/main.py" "$folder/values.json"
