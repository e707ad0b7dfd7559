/** Writes the names of Unicode's characters, as the interpreter's `unicodedata` has them, for `\N{…}` in calls. */
import { loadProfile, SandboxPool } from "../mod/sandbox.ts";

const TARGET = new URL("../src/tools/parsers/python/unicode_names.json", import.meta.url);

/** One line per character: the distance from the character before it and the name. Names with a number are left out. */
const PACK = `
import re, unicodedata, zlib
numbered = re.compile("HANGUL SYLLABLE |.*-[0-9A-F]{4,6}$")
lines, last = [], 0
for code in range(0x110000):
    name = unicodedata.name(chr(code), "")
    if name and not numbered.match(name):
        lines.append(f"{code - last} {name}")
        last = code
open("names", "wb").write(zlib.compress("\\n".join(lines).encode(), 9))
unicodedata.unidata_version`;

await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1 });
await using lease = await pool.acquire();
const result = await lease.session.exec(PACK, { fetchFiles: ["names"], timeoutMs: 60_000 });
const names = result.files?.names;
if (result.status !== "ok" || names === undefined) {
  throw new Error(`Cannot read names as the program must succeed: it ended with '${result.status}'`);
}
const version = typeof result.valueJson === "string" ? result.valueJson : "";
await Deno.writeTextFile(TARGET, `${JSON.stringify({ version, names: names.toBase64() })}\n`);
