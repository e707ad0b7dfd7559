import { assert } from "@std/assert";
import fc from "fast-check";
import { History } from "../../src/history.ts";
import { type OpenaiMessage, toOpenaiMessages } from "../../src/policy/openai_messages.ts";

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
