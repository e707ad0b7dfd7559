/**
 * Compares the calls that `pythonicCalls()` reads with those of Python's own `ast`, over generated texts. It needs `python3`,
 * of version 3.9 or later. `--write` keeps some of the texts for the suite.
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { pythonicCalls } from "../../../src/tools/parsers/pythonic_calls.ts";
import { pythonSources } from "./python_sources.ts";

async function callsOfPython(sources: readonly string[]): Promise<unknown[]> {
  const program = decodeURIComponent(new URL("python_calls.py", import.meta.url).pathname);
  const child = new Deno.Command("python3", { args: [program], stdin: "piped", stdout: "piped" }).spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(sources)));
  await writer.close();
  return JSON.parse(new TextDecoder().decode((await output).stdout));
}

function callsOf(content: string): unknown {
  const { calls } = pythonicCalls().parse({ role: "assistant", content });
  return calls.length === 0 ? null : calls.map(({ name, arguments: args }) => ({ name, arguments: args }));
}

if (Deno.args.includes("--write")) {
  const sources = [...new Set(fc.sample(pythonSources, { numRuns: 1500, seed: 38 }))].filter((text) =>
    text.length > 12 && text.length < 160 && !text.includes("1e400") // JSON has no infinity
  );
  const rows = (await callsOfPython(sources)).map((calls, at) => ({ text: sources[at], calls }));
  const kept = [
    ...rows.filter(({ calls }) => calls !== null).slice(0, 250),
    ...rows.filter(({ calls }) => calls === null).slice(0, 150),
  ];
  const lines = kept.map((row) => JSON.stringify(row)).join("\n");
  Deno.writeTextFileSync(new URL("python_calls.jsonl", import.meta.url), `${lines}\n`);
}

Deno.test("pythonicCalls() reads 20,000 generated texts as Python's ast does", async () => {
  const sources = [...new Set(fc.sample(pythonSources, 20_000))];
  const expected = await callsOfPython(sources);
  assert(expected.filter((calls) => calls !== null).length > 1000);
  for (const [at, source] of sources.entries()) assertEquals(callsOf(source), expected[at], source);
});
