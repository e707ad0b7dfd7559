#!/usr/bin/env bash
# CPython 3.9 and newer (seen: 3.9, 3.10, 3.11, 3.12, 3.13; refused by 3.8 and older). No package.
#
# Guess: ast.parse refuses whatever Python refuses as a syntax error, so a call in text (find(query="a", query="b"))
# that ast.parse reads has each keyword once.
# Seen: since the PEG parser, a repeated keyword is found by the compiler, not by the parser. ast.parse returns both
# keywords, and code that makes a dict of them silently takes the last one; compile() raises SyntaxError.
set -eu
python3 - <<'PYTHON'
import ast

call = ast.parse('find(query="a", query="b")').body[0].value
arguments = {keyword.arg: keyword.value.value for keyword in call.keywords}
print(len(call.keywords), arguments)
assert len(call.keywords) == 2 and arguments == {"query": "b"}
try:
    compile('find(query="a", query="b")', "<call>", "exec")
except SyntaxError as error:
    print(error)
else:
    raise SystemExit("compile() accepted a repeated keyword")
PYTHON
