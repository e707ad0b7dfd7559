import { assertEquals, assertThrows } from "@std/assert";
import { messageText, parseMessage } from "../src/message.ts";

Deno.test("parseMessage() takes OpenAI's form of a tool call and keeps what is no JSON as text", () => {
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

Deno.test("parseMessage() keeps the fields that say something, and no others", () => {
  const said = { role: "tool", content: "a", is_complete: false, tool_call_id: "c", name: "f" };
  assertEquals(parseMessage({ ...said, tool_calls: null, refusal: "no" }, 0), said);
  assertEquals(parseMessage({ role: "user", content: "", is_complete: true }, 0), {
    role: "user",
    content: "",
  });
});

Deno.test("parseMessage() names the message and the field that is wrong", () => {
  assertThrows(() => parseMessage({ role: "user", content: 3 }, 4), TypeError, "message 4");
  assertThrows(
    () => parseMessage({ role: "user", content: "", tool_calls: 1 }, 0),
    TypeError,
    "'tool_calls'",
  );
  assertThrows(() => parseMessage("hello", 0), TypeError, "Cannot take message 0");
});

Deno.test("messageText() joins the text parts", () => {
  const content = [{ type: "text", text: "a" }, { type: "image", url: "u" }, {
    type: "text",
    text: "b",
  }] as const;
  assertEquals(messageText({ role: "user", content }), "ab");
});
