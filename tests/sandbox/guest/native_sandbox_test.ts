import { assertEquals } from "@std/assert";
import type { ExecResult } from "../../../src/sandbox/contract/exec.ts";
import { withSession } from "../shared_session.ts";
import recorded from "./native/recorded.json" with { type: "json" };

/** Standard output, standard error and exit code. */
type Seen = [stdout: string, stderr: string, exitCode: number];

/** Returns the programs of a file by their names. `native/record.py` has the format. */
async function readPrograms(name: string): Promise<Map<string, string>> {
  const text = await Deno.readTextFile(new URL(`./native/${name}.txt`, import.meta.url));
  const programs = text.split("### ").slice(1).map((part) => {
    const end = part.indexOf("\n");
    return [part.slice(0, end), part.slice(end + 1)] as const;
  });
  return new Map(programs);
}

function seen(result: ExecResult): Seen {
  const trace = "error" in result ? result.error.traceback : "";
  const exitCode = result.status === "exited" ? result.exitCode : Number(result.status !== "ok");
  return [normal(result.stdout), normal(result.stderr + trace), exitCode];
}

/** Replaces what `native/record.py` replaces. */
function normal(text: string): string {
  return text.replaceAll("/home/pyodide", "HOME").replace(/0x[0-9a-f]+/g, "0x")
    .replace(/File "(?!HOME)[^"<]*\/([\w.]+)", line \d+/g, 'File "$1"');
}

for (const [file, expected] of Object.entries(recorded)) {
  Deno.test(`Session.exec() with argv runs programs as CPython on Linux does: ${file}`, async (t) => {
    const programs = await readPrograms(file);
    assertEquals([...programs.keys()], Object.keys(expected), "run native/record.py again");
    await withSession(async (session) => {
      for (const [name, code] of programs) {
        await t.step(name, async () => {
          const result = await session.exec(code, { argv: ["main.py"], timeoutMs: 60_000, then: "rewind" });
          assertEquals(seen(result), (expected as unknown as Record<string, Seen>)[name]);
        });
      }
    });
  });
}
