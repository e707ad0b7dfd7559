import { assertEquals } from "@std/assert";
import { groupOf, withoutAnswer } from "../src/task.ts";

Deno.test("withoutAnswer() removes only the answer, the fields and the group", () => {
  assertEquals(
    withoutAnswer({ id: "a", query: "q", answer: "1", reference: "r", fields: { a: 1 }, group: "g" }),
    {
      id: "a",
      query: "q",
      reference: "r",
    },
  );
});

Deno.test("groupOf() returns the group of a task, or else its id", () => {
  assertEquals(groupOf({ id: "a", query: "q", group: "g" }), "g");
  assertEquals(groupOf({ id: "a", query: "q" }), "a");
});
