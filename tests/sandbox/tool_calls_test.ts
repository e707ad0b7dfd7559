import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { z } from "zod";
import { type HostTool, hostTool } from "../../src/sandbox/host_tool.ts";
import { ToolCalls } from "../../src/sandbox/tool_calls.ts";

const encoder = new TextEncoder();
const MIB = 1024 * 1024;

interface Reply {
  readonly call: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** Makes the calls of an exec that was granted one tool, with the replies so far. */
function callsOf(tool?: HostTool): { call: (number: number, args: string) => void; replies: Reply[] } {
  const replies: Reply[] = [];
  const onReply = (text: string) => void replies.push(JSON.parse(text));
  const calls = new ToolCalls(tool ? [tool] : [], { budget: 100, onReply });
  const call = (number: number, args: string) =>
    calls.receive(encoder.encode(`{"call":${number},"name":"take","arguments":${args}}`));
  return { call, replies };
}

/** A tool that takes a list and waits for `until`. */
function take(items: z.ZodType, until: Promise<unknown> = Promise.resolve()): HostTool {
  return hostTool({
    name: "take",
    description: "",
    parameters: z.object({ items: z.array(items) }),
    run: async () => (await until, 1),
  });
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve));
}

Deno.test("ToolCalls refuses calls while pending calls are too large together", async () => {
  const gate = Promise.withResolvers<void>();
  const { call, replies } = callsOf(take(z.any(), gate.promise));
  const large = `{"items":["${"x".repeat(3 * MIB)}"]}`;
  for (let number = 1; number <= 3; number++) call(number, large);
  call(4, `{"items":[]}`);
  await until(() => replies.length === 2);
  assertEquals(replies.map((reply) => reply.call), [2, 3]);
  assertStringIncludes(replies[0]?.error ?? "", "pending calls must have at most");
  gate.resolve();
  await until(() => replies.length === 4);
  call(5, large);
  await until(() => replies.length === 5);
  assertEquals(replies.slice(2).map(({ value }) => value), [1, 1, 1]);
});

Deno.test("ToolCalls accepts a single call of the size of a frame", async () => {
  const { call, replies } = callsOf(take(z.any()));
  call(1, `{"items":["${"x".repeat(12 * MIB)}"]}`);
  await until(() => replies.length === 1);
  assertEquals(replies[0]?.value, 1);
});

Deno.test("ToolCalls reports the first of many issues", async () => {
  const { call, replies } = callsOf(take(z.string()));
  call(1, `{"items":[${"0,".repeat(1_000)}0]}`);
  await until(() => replies.length === 1);
  const { error = "" } = replies[0] ?? {};
  assertStringIncludes(error, "items.0: ");
  assertStringIncludes(error, "and 981 more");
  assert(error.length < 5_000);
});

Deno.test("ToolCalls truncates an error that is too long", async () => {
  const tool = hostTool({
    name: "take",
    description: "",
    parameters: z.object({}),
    run() {
      throw new Error("e".repeat(MIB));
    },
  });
  const { call, replies } = callsOf(tool);
  call(1, "{}");
  await until(() => replies.length === 1);
  assertEquals(replies[0]?.error?.length, 65_536);
});

Deno.test("ToolCalls treats a call with 350,000 lists as a violation before parsing it", () => {
  const { call } = callsOf(take(z.any()));
  assertThrows(
    () => call(1, `{"items":[${"[],".repeat(350_000)}[]]}`),
    SyntaxError,
    "at most 100000 values",
  );
  assertThrows(() => callsOf().call(1, `{"items":[${"0,".repeat(5_000)}0]}`), SyntaxError, "values");
});

Deno.test("ToolCalls tells a tool when its result is written to the guest, or the exec has ended", async () => {
  const written = Promise.withResolvers<void>();
  const delivered: string[] = [];
  const tool = hostTool({
    name: "take",
    description: "",
    parameters: z.object({ id: z.string() }),
    run: ({ id }, context) => void context.delivered?.then(() => delivered.push(id)),
  });
  let replies = 0;
  const calls = new ToolCalls([tool], {
    budget: 100,
    onReply: () => ++replies === 1 ? written.promise : new Promise(() => {}),
  });
  const call = (number: number, id: string) =>
    calls.receive(encoder.encode(`{"call":${number},"name":"take","arguments":{"id":"${id}"}}`));
  call(1, "written");
  call(2, "never written");
  await until(() => replies === 2);
  assertEquals(delivered, []);
  written.resolve();
  await until(() => delivered.length === 1);
  assertEquals(delivered, ["written"]);
  calls.end();
  await until(() => delivered.length === 2);
  assertEquals(delivered, ["written", "never written"]);
});
