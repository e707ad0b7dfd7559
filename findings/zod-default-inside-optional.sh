#!/usr/bin/env bash
# zod 4.6.7 against 3.25.76 (npm), Node 20 or newer.
#
# Guess: in `z.number().default(10).nullish()` the outer `nullish()` decides first, as in zod 3: a missing key stays
# missing, and a fallback such as `value ?? 20` applies.
# Seen: zod 4 applies the inner default to a missing key of an object, although the key is optional, and leaves `null` as it
# is. So a schema that is reused with `.nullish()` or `.optional()` in another object brings its default along, and the
# fallback is dead code. The generated JSON Schema does not list the key as required in either version.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . zod4@npm:zod@4.6.7 zod3@npm:zod@3.25.76 >/dev/null
cat > main.mjs <<'JAVASCRIPT'
import * as zod4 from "zod4";
import * as zod3 from "zod3";

const read = ({ z }) => {
  const limits = z.object({ seconds: z.number().default(10).nullish() });
  return { missing: limits.parse({}).seconds ?? 20, null: limits.parse({ seconds: null }).seconds ?? 20 };
};
const seen = { zod4: read(zod4), zod3: read(zod3) };
console.log(seen);
const { zod4: now, zod3: before } = seen;
process.exit(now.missing === 10 && now.null === 20 && before.missing === 20 && before.null === 20 ? 0 : 1);
JAVASCRIPT
node main.mjs
