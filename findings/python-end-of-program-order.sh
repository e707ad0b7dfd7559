#!/usr/bin/env bash
# CPython 3.11 and newer (seen: 3.11.7, 3.12.1, 3.13.0). No package.
#
# Guess: at the end of a program, the objects of a list are deleted in the order of the list, as del items does.
# Seen: the interpreter collects garbage once while all modules are alive. That collection decides about the order:
# __del__ of the list's objects runs from the last to the first. A module whose names are dropped without such a
# collection deletes them from the first to the last.
#
#   items = [A(1), A(2)] at the end of a program            2 1
#   the same in a module that is dropped                     1 2
#   the same after one gc.collect()                          2 1
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > items.py <<'PYTHON'
class A:
    def __init__(self, number):
        self.number = number

    def __del__(self):
        print(self.number, end=" ")


items = [A(1), A(2)]
PYTHON
cat > drop.py <<'PYTHON'
import gc
import sys
import types

module = types.ModuleType("items")
with open("items.py") as file:
    exec(file.read(), module.__dict__)
if sys.argv[1:] == ["collect"]:
    gc.collect()
del module
gc.collect()
PYTHON
seen="$(python3 items.py)/$(python3 drop.py)/$(python3 drop.py collect)"
python3 --version
echo "$seen"
[ "$seen" = "2 1 /1 2 /2 1 " ]
