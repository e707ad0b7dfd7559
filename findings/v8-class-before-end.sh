#!/usr/bin/env bash
# Deno 2.9.6 (npm; V8 15.0.245.2) against Node 20 (V8 11.3).
#
# Guess: with the flag u, [\p{L}]$ and \p{L}$ match the same texts.
# Seen: in the V8 of Deno 2.9.6 an expression that may begin anywhere but must end at the end of the text does not
# match if its class in brackets has to take a letter outside the Basic Multilingual Plane. The same expression
# without brackets, without $ or with ^, and each of them in an older V8, matches. There is no error, so a check such
# as /[\p{L}]$/u refuses texts that it accepted before.
#
#   expression            Deno 2.9.6    Node
#   /[\p{L}]$/u           false         true
#   /[\p{L}\p{N}]$/u      false         true
#   /^[\p{L}]$/u          true          true
#   /\p{L}$/u             true          true
#   /[\p{L}]/u            true          true
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . deno@2.9.6 >/dev/null
cat > test.mjs <<'JAVASCRIPT'
const letter = String.fromCodePoint(0x1d4b3);
const seen = [/[\p{L}]$/u, /[\p{L}\p{N}]$/u, /^[\p{L}]$/u, /\p{L}$/u, /[\p{L}]/u].map((expression) => expression.test(letter));
console.log(seen.join(" "));
JAVASCRIPT
new=$(./node_modules/.bin/deno run test.mjs)
old=$(node test.mjs)
echo "Deno: $new; Node: $old"
[ "$new" = "false false true true true" ]
