#!/usr/bin/env bash
# pyodide 314.0.7 (npm, CPython 3.14.2), Node 20 or newer, against CPython 3.11 or newer with OpenSSL 1.1.1 or newer.
#
# Guess: Pyodide has a module `ssl` whose contexts can be made and set up, and fails only when a connection begins its
# handshake, as no OpenSSL is there.
# Seen: `ssl.create_default_context()` works, and OPENSSL_VERSION_INFO (1.1.1w) passes the checks of versions of libraries.
# But HAS_NEVER_CHECK_COMMON_NAME is False, and the setter of `hostname_checks_common_name`, which urllib3 2 calls for each
# context, raises AttributeError. So a request by HTTPS fails before any handshake, also where a host gives Pyodide TLS.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . pyodide@314.0.7 >/dev/null
cat > main.py <<'PYTHON'
import ssl

context = ssl.create_default_context()
try:
    context.hostname_checks_common_name = False
    found = "set"
except AttributeError as error:
    found = f"AttributeError: {error}"
f"{ssl.OPENSSL_VERSION_INFO[:3]} {ssl.HAS_NEVER_CHECK_COMMON_NAME} {found}"
PYTHON
cat > main.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
await python.loadPackage("ssl").catch(() => {}); // the module may be a part of the distribution
const seen = python.runPython(readFileSync("main.py", "utf8"));
console.log("Pyodide:", seen);
process.exit(/ False AttributeError/.test(seen) ? 0 : 1);
JAVASCRIPT
node main.mjs
echo "CPython: $(python3 -c "exec(open('main.py').read()); print(found)")"
test "$(python3 -c "exec(open('main.py').read()); print(found)")" = set
