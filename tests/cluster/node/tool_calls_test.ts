import { assertEquals, assertRejects } from "@std/assert";
import { z } from "zod";
import { CallEvents } from "../../../src/cluster/call_events.ts";
import { type CallReply, callReplySchema, controlSchema } from "../../../src/cluster/calls.ts";
import { decodeMessage } from "../../../src/cluster/nats/message.ts";
import type { NatsPeer } from "../../../src/cluster/nats/nats_peer.ts";
import { NodeCall } from "../../../src/cluster/node/node_call.ts";
import { EXEC_FIELDS } from "../../../src/sandbox/contract/exec_fields.ts";
import type { HostTool } from "../../../src/sandbox/host_tool.ts";
import { EncodedToolValue } from "../../../src/sandbox/tool_value.ts";
import { CodeTools } from "../../../src/tools/code_mode/code_tools.ts";

const from = { caller: "a".repeat(10), call: "1" };

/** Returns the tools of an exec as a node has them, whose calls reach `tools` by the messages of a cluster. */
function onNode(tools: readonly HostTool[]): HostTool[] {
  const events = new CallEvents({ tools }, undefined);
  const reply = (bytes: Uint8Array) => {
    const head = callReplySchema.parse(decodeMessage(bytes).head) as CallReply;
    events.receive(head, async (control, parts = []) => {
      const sent = controlSchema.parse(JSON.parse(JSON.stringify({ ...control, ...from })));
      if (sent.op !== "disown") node.control(sent, parts);
      await Promise.resolve();
    });
    return Promise.resolve();
  };
  const peer = {
    subjects: { inbox: () => "inbox" },
    post: () => {},
    send: (_: string, bytes: Uint8Array) => reply(bytes),
  };
  const node = new NodeCall(peer as unknown as NatsPeer, from);
  const sent = EXEC_FIELDS.toMessage({ tools }, { add: () => 0 }) as { tools: never };
  return node.toHostTools(z.object(EXEC_FIELDS.message).parse(sent).tools ?? []);
}

const { signal } = new AbortController();

Deno.test("a tool of a cluster gets and returns all digits of integers, and bytes", async () => {
  const given: unknown[] = [];
  const echo: HostTool = {
    name: "echo",
    description: "",
    parameters: z.looseObject({}),
    exactIntegers: true,
    run(args, { argumentsText }) {
      given.push(args, argumentsText);
      return { n: args.n, data: new Uint8Array([1, 2, 3]) };
    },
  };
  const [tool] = onNode([echo]);
  const args = { n: 2n ** 64n + 1n };
  assertEquals(
    await tool?.run(args, { signal }),
    new EncodedToolValue('{"n":18446744073709551617,"data":"AQID"}', [[["data"], null]]),
  );
  await tool?.run({ n: 1, x: 50 }, { signal, argumentsText: '{"n":1,"x":50.0,"__proto__":{"y":1}}' });
  assertEquals(given, [
    args,
    '{"n":18446744073709551617}',
    { n: 1, x: 50 },
    '{"n":1,"x":50.0,"__proto__":{"y":1}}',
  ]);
  await assertRejects(
    async () =>
      await onNode([{ ...echo, parameters: z.object({ n: z.string() }) }])[0]?.run(args, { signal }),
    Error,
    "wrong arguments for 'echo'",
  );
});

Deno.test("code finds the tools of an episode on a cluster under all of their names, and gets their values", async () => {
  const add = { name: "shop.add", description: "", parameters: { type: "object" }, run: () => ({ sum: 3 }) };
  const block = new CodeTools([add], { names: "modules" }).forBlock({ idPrefix: "b", stateOf: () => ({}) });
  const [tool] = onNode(block.tools);
  assertEquals(tool?.python, block.tools[0]?.python);
  assertEquals(await tool?.run({}, { signal }), new EncodedToolValue('{"sum":3}', []));
  assertEquals(block.endCalls().map(({ status, result }) => [status, result]), [["ok", '{"sum":3}']]);
});
