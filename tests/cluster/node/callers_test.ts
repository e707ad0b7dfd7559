import { assertEquals } from "@std/assert";
import { Callers } from "../../../src/cluster/node/callers.ts";

Deno.test("Callers.beat() reports a caller that has connected again, once, and ignores strangers", () => {
  const callers = new Callers();
  assertEquals(callers.beat({ id: "stranger", epoch: 2 }), false);
  callers.note("a");
  assertEquals([1, 1, 2, 2].map((epoch) => callers.beat({ id: "a", epoch })), [false, false, true, false]);
  callers.note("a");
  assertEquals(callers.beat({ id: "a", epoch: 2 }), false);
  assertEquals(callers.takeLost(), []);
});
