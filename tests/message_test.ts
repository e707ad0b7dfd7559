import { assertEquals, assertThrows } from "@std/assert";
import { type Message, messageText } from "../src/message.ts";
import { parseMessage } from "../src/parse_message.ts";

Deno.test("parseMessage() accepts OpenAI's tool calls, and keeps arguments that are not JSON as text", () => {
  const wrapped = (args: string) => ({
    id: "c1",
    type: "function",
    function: { name: "f", arguments: args },
  });
  const message = { role: "assistant", content: null, tool_calls: [wrapped('{"x":1}'), wrapped("{x}")] };
  assertEquals(parseMessage(message, 0), {
    role: "assistant",
    content: "",
    tool_calls: [{ id: "c1", name: "f", arguments: { x: 1 } }, { id: "c1", name: "f", arguments: "{x}" }],
  });
});

Deno.test("parseMessage() drops null fields and unknown fields", () => {
  const message = { role: "tool", content: "a", is_complete: false, tool_call_id: "c", name: "f" };
  assertEquals(parseMessage({ ...message, tool_calls: null, refusal: "no" }, 0), message);
  assertEquals(parseMessage({ role: "user", content: "", is_complete: true }, 0), {
    role: "user",
    content: "",
  });
});

Deno.test("parseMessage() returns a deeply frozen copy and leaves its input unfrozen", () => {
  const deep = JSON.parse("[".repeat(20_000) + "]".repeat(20_000));
  const input = {
    role: "assistant",
    content: [{ type: "function_call", function_args: { x: [1] } }],
    tool_calls: [{ name: "f", arguments: { x: { y: 1 }, deep, ["__proto__"]: { z: 1 } } }],
    tool_responses: ["a"],
  };
  const message = parseMessage(input, 0);
  const before = JSON.stringify(message.content) + Object.keys(message.tool_calls?.[0]?.arguments ?? {});
  const changes: ((message: Message) => unknown)[] = [
    (message) => Object.assign(message, { role: "user" }),
    (message) => Object.assign(message.content[0] ?? {}, { type: "text" }),
    (message) => Object.assign(Object(message.tool_calls?.[0]?.arguments).x, { y: 2 }),
    (message) => Object(message.tool_calls?.[0]?.arguments).x = 2,
    (message) => (message.tool_responses as string[]).push("b"),
  ];
  for (const change of changes) assertThrows(() => change(message), TypeError);
  input.tool_responses.push("b");
  Object.assign(input.tool_calls[0]?.arguments ?? {}, { x: 3 });
  assertEquals(Object(message.tool_calls?.[0]?.arguments).x, { y: 1 });
  assertEquals(message.tool_responses, ["a"]);
  assertEquals(
    JSON.stringify(message.content) + Object.keys(message.tool_calls?.[0]?.arguments ?? {}),
    before,
  );
});

Deno.test("parseMessage() names the invalid message and field in its error", () => {
  assertThrows(() => parseMessage({ role: "user", content: 3 }, 4), TypeError, "message 4");
  assertThrows(
    () => parseMessage({ role: "user", content: "", tool_calls: 1 }, 0),
    TypeError,
    "'tool_calls'",
  );
  assertThrows(() => parseMessage("hello", 0), TypeError, "Cannot take message 0");
});

Deno.test("messageText() joins the text parts of a message", () => {
  const content = [{ type: "text", text: "a" }, { type: "image", url: "u" }, {
    type: "text",
    text: "b",
  }] as const;
  assertEquals(messageText({ role: "user", content }), "ab");
});
