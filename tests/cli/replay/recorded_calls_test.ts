import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { firstOtherCall, recordedTools } from "../../../src/cli/replay/recorded_calls.ts";
import { ToolError } from "../../../src/errors.ts";
import type { ToolRecord } from "../../../src/rollout/trajectory.ts";
import type { CodeCall } from "../../../src/tools/tool_result.ts";

const task = { id: "a", query: "q" };
const info = {
  codeTools: [{
    name: "search",
    pythonName: "search",
    description: "Searches.",
    parameters: { type: "object" },
  }],
};

/** Returns the record of a block whose calls have these arguments; each runs for a millisecond. */
function block(...calls: (Partial<CodeCall> & { q: unknown })[]): ToolRecord[] {
  const call = { caller: "code", tool: "search", status: "ok", durationMs: 1, truncated: false } as const;
  return [{
    turn: 1,
    call: 1,
    callId: "python-1-1",
    tool: "python",
    status: "ok",
    durationMs: 9,
    truncated: false,
    calls: calls.map(({ q, ...fields }, at) => ({
      ...call,
      call: at + 1,
      callId: `python-1-1-${at + 1}`,
      startMs: 2 * at,
      arguments: { q },
      result: JSON.stringify(`found ${q}`),
      ...fields,
    })),
  }];
}

function answering(toolResults: ToolRecord[], tools: Parameters<typeof recordedTools>[1] = []) {
  const [search] = recordedTools({ task, info, toolResults }, tools).tools;
  let call = 0;
  return async (q: unknown) =>
    await search?.run({ q }, {
      signal: AbortSignal.timeout(10),
      callId: `python-1-1-${++call}`,
      state: {},
    });
}

Deno.test("recordedTools() answers from the record, in the order of the calls", async () => {
  const failed = { status: "timeout", result: "no result within 5 ms" } as const;
  const search = answering(block({ q: 1 }, { q: 2, ...failed }, { q: 3, result: "9007199254740993" }));
  assertEquals(await search(1), "found 1");
  await assertRejects(() => search(2), ToolError, "no result within 5 ms");
  assertEquals(JSON.stringify(await search(3)), "9007199254740993");
  await assertRejects(() => search(4), ToolError, "the record has no such call of 'search' here");
});

Deno.test("recordedTools() answers calls at the same time in any order, and others in theirs", async () => {
  const apart = answering(block({ q: 1 }, { q: 2 }));
  await assertRejects(() => apart(2), ToolError);
  const together = answering(block({ q: 1, durationMs: 50 }, { q: 2, durationMs: 50 }, { q: 3 }));
  assertEquals(await Promise.all([together(3), together(1)]), ["found 3", "found 1"]);
});

Deno.test("recordedTools() lets a call wait whose block ended before its result", async () => {
  const search = answering(block({ q: 1, status: "interrupted", result: "the block had ended" }));
  await assertRejects(() => search(1), DOMException);
});

Deno.test("recordedTools() needs the tools of results that are cut, and of rows of earlier versions", async () => {
  const toolResults = block({ q: 1, truncated: true }, { q: 2 });
  assertThrows(
    () => answering(toolResults),
    UsageError,
    "has not all of the result of 'search': give --tool",
  );
  const old = { task, toolResults: block({ q: 1 }) };
  assertThrows(() => recordedTools(old, []), UsageError, "which the row does not describe: give --tool");
  const tool = { name: "search", description: "", parameters: {}, run: () => "from the tool" };
  assertEquals(recordedTools(old, [tool]).tools.length, 1);
  const search = answering(toolResults, [tool]);
  assertEquals([await search(1), await search(2)], ["from the tool", "found 2"]);
});

Deno.test("firstOtherCall() names the first call with another argument, a further one, and a missing one", () => {
  const recorded = block({ q: 1 }, { q: { a: 1, b: 2 } }, { q: 3 });
  assertEquals(firstOtherCall(recorded, block({ q: 1 }, { q: { b: 2, a: 1 } }, { q: 3 })), undefined);
  const first = { block: 1, call: 2, recorded: 'search({"q":{"a":1,"b":2}})' };
  assertEquals(firstOtherCall(recorded, block({ q: 1 }, { q: 5 })), {
    ...first,
    replayed: 'search({"q":5})',
  });
  assertEquals(firstOtherCall(recorded, block({ q: 1 })), { ...first, replayed: "(no call)" });
  assertEquals(firstOtherCall(block({ q: 1 }), block({ q: 1 }, { q: 2 })), {
    block: 1,
    call: 2,
    recorded: "(no call)",
    replayed: 'search({"q":2})',
  });
});
