import { concat } from "@std/bytes";
import { assert, assertEquals } from "@std/assert";
import { rawNumber } from "../../../src/numbers/exact_numbers.ts";
import { jsonPieces } from "../../../src/server/http/large_json.ts";

const LONG = 300_000;

async function serialized(value: unknown): Promise<{ text: string; pieces: number[] }> {
  const pieces = await Array.fromAsync(jsonPieces(value));
  return { text: new TextDecoder().decode(concat(pieces)), pieces: pieces.map(({ length }) => length) };
}

Deno.test("jsonPieces() yields the bytes of JSON.stringify()", async (t) => {
  const values: Record<string, unknown> = {
    small: { status: "ok", value: 1 },
    text: "a".repeat(LONG),
    escapes: '"\\\n\u0001'.repeat(LONG),
    "surrogate pairs at every place": ["", "x"].map((start) => start + "😁".repeat(LONG)),
    "lone surrogates": "\ud83d".repeat(LONG) + "a\ude01".repeat(LONG),
    list: Array.from({ length: LONG }, (_, at) => at),
    "list with holes": [undefined, () => {}, "a".repeat(LONG), NaN],
    members: {
      a: undefined,
      b: "b".repeat(LONG),
      "ü\n": { nested: ["c".repeat(LONG)] },
      d: () => {},
      e: null,
    },
    "own serialization": {
      at: new Date(0),
      exact: rawNumber("12345678901234567890"),
      text: "a".repeat(LONG),
    },
  };
  for (const [name, value] of Object.entries(values)) {
    await t.step(name, async () => assertEquals((await serialized(value)).text, JSON.stringify(value)));
  }
});

Deno.test("jsonPieces() lets other tasks run between the pieces of a large value", async () => {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns++;
    if (!isDone) setTimeout(count);
  };
  setTimeout(count);
  const { pieces } = await serialized({ results: Array<string>(20).fill("a".repeat(1_000_000)) });
  isDone = true;
  assert(turns >= 10, `${turns} turns`);
  assert(Math.max(...pieces) < 512 * 1024);
  await new Promise((resolve) => setTimeout(resolve, 5));
});
