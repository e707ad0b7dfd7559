import { assertEquals } from "@std/assert";
import recorded from "./sizes/sizes.jsonl" with { type: "text" };
import program from "./sizes/sizes.py" with { type: "text" };
import { withSession } from "./shared_session.ts";

/** What a function returns for a size, or the name of its exception. */
type Outcome = readonly [kind: string, text: string];
/** A function and its outcomes for each size. */
type Row = readonly [name: string, outcomes: readonly Outcome[]];

/** Functions that raise an exception for some sizes for which they return a value on a 64-bit machine. */
const REFUSING = [
  ...["repeat", "deque maxlen", "deque maxlen value", "len", "bool", "length_hint", "length_hint default"],
  ...["seek bytes", "seek text", "struct n", "struct l", "array l", "bisect range", "bisect range key"],
  ...["decimal tuple", "mmap find"],
];

Deno.test("C code gives the values of 64-bit machines for large sizes, or an exception", async () => {
  let stdout = "";
  await withSession(async (session) => {
    const result = await session.exec(program, { argv: ["sizes.py"] });
    assertEquals(["error" in result ? result.error.traceback : "", result.stderr], ["", ""]);
    stdout = result.stdout;
  });
  const rows = readRows(stdout);
  const expected = new Map(readRows(recorded));
  assertEquals(rows.map(([name]) => name), [...expected.keys()]);
  const wrong = rows.flatMap(([name, outcomes]) =>
    outcomes.filter(([kind, text], index) => kind === "value" && text !== expected.get(name)?.[index]?.[1])
      .map(([, text]) => [name, text])
  );
  assertEquals(wrong, []);
  const refusing = rows.filter(([name, outcomes]) =>
    outcomes.some(([kind], index) => kind === "error" && expected.get(name)?.[index]?.[0] === "value")
  );
  assertEquals(refusing.map(([name]) => name), REFUSING);
});

function readRows(lines: string): Row[] {
  return lines.trim().split("\n").map((line) => JSON.parse(line));
}
