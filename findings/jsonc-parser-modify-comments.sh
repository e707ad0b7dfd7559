#!/usr/bin/env bash
# jsonc-parser 3.3.1 (npm).
#
# Guess: modify() and applyEdits() change one property and leave the comments of the others where they are.
# Seen: a comment behind the last property moves behind a property that is added after it, and the removal of a
# property takes along the comment behind the property before.
#
#   {"a": 1 // of a}              add b       // of a stands behind b
#   {"a": 1, // of a  "b": 2}     remove b    // of a is gone
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . jsonc-parser@3.3.1 >/dev/null
cat > test.mjs <<'JAVASCRIPT'
import jsonc from "jsonc-parser";

const options = { formattingOptions: { insertSpaces: true, tabSize: 2 } };
const change = (text, name, value) => jsonc.applyEdits(text, jsonc.modify(text, [name], value, options));
const added = change('{\n  "a": 1 // of a\n}', "b", 2);
const removed = change('{\n  "a": 1, // of a\n  "b": 2\n}', "b", undefined);
console.log(added);
console.log(removed);
const isMoved = added.indexOf("// of a") > added.indexOf('"b"');
process.exit(isMoved && !removed.includes("// of a") ? 0 : 1);
JAVASCRIPT
node test.mjs
