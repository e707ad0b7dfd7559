import { assertEquals } from "@std/assert";
import { withoutAnswer } from "../src/task.ts";

Deno.test("withoutAnswer() removes only the answer and the fields", () => {
  assertEquals(withoutAnswer({ id: "a", query: "q", answer: "1", reference: "r", fields: { a: 1 } }), {
    id: "a",
    query: "q",
    reference: "r",
  });
});
