import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { History } from "../../src/history.ts";
import type { Message } from "../../src/message.ts";
import { type OpenaiMessage, toOpenaiMessages } from "../../src/policy/openai_messages.ts";

function written(...messages: Message[]): unknown {
  return JSON.parse(JSON.stringify(toOpenaiMessages(History.fromChats(messages))));
}

const call = (id: string, args: Record<string, unknown> | string = {}) => ({
  id,
  name: "f",
  arguments: args,
});
const wire = (id: string, args = "{}") => ({
  id,
  type: "function",
  function: { name: "f", arguments: args },
});

Deno.test("toOpenaiMessages() puts results after their calls by id", () => {
  assertEquals(
    written(
      { role: "user", content: "q" },
      { role: "assistant", content: "", tool_calls: [call("a", { x: 1 }), call("b", "{broken")] },
      { role: "tool", content: "for b", tool_call_id: "b" },
      { role: "search", content: "for a", tool_call_id: "a" },
    ),
    [
      { role: "user", content: "q" },
      { role: "assistant", content: null, tool_calls: [wire("a", '{"x":1}'), wire("b", "{broken")] },
      { role: "tool", content: "for b", tool_call_id: "b" },
      { role: "tool", content: "for a", tool_call_id: "a" },
    ],
  );
});

Deno.test("toOpenaiMessages() creates ids for calls without one and matches results in order", () => {
  const calls = [{ name: "f", arguments: {} }, { name: "f", arguments: {} }];
  assertEquals(
    written(
      { role: "assistant", content: "t", tool_calls: calls },
      { role: "tool", content: "1" },
      { role: "tool", content: "2" },
    ),
    [
      { role: "assistant", content: "t", tool_calls: [wire("call_0_0"), wire("call_0_1")] },
      { role: "tool", content: "1", tool_call_id: "call_0_0" },
      { role: "tool", content: "2", tool_call_id: "call_0_1" },
    ],
  );
});

Deno.test("toOpenaiMessages() matches the tool_responses of one message with all open calls", () => {
  assertEquals(
    written(
      { role: "assistant", content: "", tool_calls: [call("a"), call("b")] },
      { role: "tool", content: "1 and 2", tool_responses: ["1", "2"] },
    ),
    [
      { role: "assistant", content: null, tool_calls: [wire("a"), wire("b")] },
      { role: "tool", content: "1", tool_call_id: "a" },
      { role: "tool", content: "2", tool_call_id: "b" },
    ],
  );
});

Deno.test("toOpenaiMessages() converts results without a call to one user message", () => {
  assertEquals(
    written(
      { role: "user", content: "q" },
      { role: "assistant", content: "```python\n1\n```" },
      { role: "tool", content: "Code block 1" },
      { role: "python", content: "Code block 2", tool_call_id: "unknown" },
      { role: "assistant", content: "done" },
      { role: "user", content: "again" },
    ),
    [
      { role: "user", content: "q" },
      { role: "assistant", content: "```python\n1\n```" },
      { role: "user", content: "Code block 1\n\nCode block 2" },
      { role: "assistant", content: "done" },
      { role: "user", content: "again" },
    ],
  );
});

Deno.test("toOpenaiMessages() adds a result for each call without one", () => {
  assertEquals(
    written(
      { role: "assistant", content: "", tool_calls: [call("a"), call("b")] },
      { role: "tool", content: "1", tool_call_id: "b" },
      { role: "user", content: "and now?" },
    ),
    [
      { role: "assistant", content: null, tool_calls: [wire("a"), wire("b")] },
      { role: "tool", content: "1", tool_call_id: "b" },
      { role: "tool", content: "(no result)", tool_call_id: "a" },
      { role: "user", content: "and now?" },
    ],
  );
});

Deno.test("toOpenaiMessages() converts content parts to the API's format", () => {
  assertEquals(
    written({
      role: "user",
      name: "ann",
      content: [
        { type: "text", text: "look" },
        { type: "image", url: "http://h/a.png" },
        { type: "image", data: "AAAA", mime_type: "image/jpeg" },
        { type: "audio", data: "BBBB", mime_type: "audio/mp3" },
        { type: "video", url: "http://h/v" },
      ],
    }),
    [{
      role: "user",
      name: "ann",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: "http://h/a.png" } },
        { type: "image_url", image_url: { url: "data:image/jpeg;base64,AAAA" } },
        { type: "input_audio", input_audio: { data: "BBBB", format: "mp3" } },
        { type: "text", text: "[video http://h/v]" },
      ],
    }],
  );
});

const ids = fc.constantFrom("a", "b", "c");

const message = fc.oneof(
  fc.record({ role: fc.constantFrom("system", "user", "assistant"), content: fc.string() }),
  fc.record({
    role: fc.constant("assistant"),
    content: fc.string(),
    tool_calls: fc.uniqueArray(fc.record({ id: ids, name: fc.constant("f"), arguments: fc.constant({}) }), {
      selector: ({ id }) => id,
    }),
  }),
  fc.record({ role: fc.constantFrom("tool", "search"), content: fc.string() }),
  fc.record({ role: fc.constantFrom("tool", "search"), content: fc.string(), tool_call_id: ids }),
  fc.array(fc.string()).map((tool_responses) => ({
    role: "tool",
    content: tool_responses.join("\n"),
    tool_responses,
  })),
);

/**
 * Checks a server's requirement: one tool message after each assistant's call, and no other tool messages.
 */
function isAccepted(messages: readonly OpenaiMessage[]): boolean {
  let open = new Set<unknown>();
  for (const { role, tool_calls: calls, tool_call_id: id } of messages) {
    if (role === "tool" ? !open.delete(id) : open.size > 0) return false;
    if (calls !== undefined) open = new Set(calls.map((call) => "id" in call ? call.id : undefined));
  }
  return true;
}

Deno.test("toOpenaiMessages() returns a valid request with all tool results for any conversation", () => {
  fc.assert(fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
    const history = History.fromChats([...messages, { role: "user", content: "end" }]);
    const written = toOpenaiMessages(history);
    assert(isAccepted(written), JSON.stringify(written));
    const text = written.map(({ content }) => content).join("\n");
    for (const { role, content } of messages) assert(role === "assistant" || text.includes(content));
  }));
});
