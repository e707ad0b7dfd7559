#!/usr/bin/env bash
# CPython 3.14.2 as Pyodide 314.0.7 (npm), Node 20 or newer; CPython 3.14 on Linux shows the same.
#
# Guess: `itertools.batched(items, n)` takes up to n items, so a large n means "all in one batch", as a large stop of
# `islice` does.
# Seen: each batch begins as a tuple of n places, also for three items: n = 20,000,000 takes 80 MB here (4 bytes a place; 160
# MB on a machine of 64 bits) before the first item is read, and n = sys.maxsize raises MemoryError. `islice` takes nothing.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . pyodide@314.0.7 >/dev/null
cat > main.mjs <<'JAVASCRIPT'
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
const megabytes = () => python._module.HEAP8.length / 2 ** 20;
const grows = (code) => {
  const before = megabytes();
  python.runPython(code);
  return Math.round(megabytes() - before);
};
const seen = {
  islice: grows(`import itertools, sys\nlist(itertools.islice("abc", sys.maxsize))`),
  batched: grows(`list(itertools.batched("abc", 20_000_000))`),
  largest: python.runPython(`
try:
    found = str(list(itertools.batched("abc", sys.maxsize)))
except MemoryError:
    found = "MemoryError"
found`),
};
console.log(python.runPython("sys.version.split()[0]"), seen);
process.exit(seen.islice === 0 && seen.batched > 50 && seen.largest === "MemoryError" ? 0 : 1);
JAVASCRIPT
node main.mjs
