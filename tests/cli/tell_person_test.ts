import { assertEquals } from "@std/assert";
import { printHint } from "../../src/cli/tell_person.ts";
import { FakeSink } from "./fake_sink.ts";

Deno.test("printHint() speaks to a terminal, and never to a program", async () => {
  for (const [terminal, said] of [[true, "Waiting\n"], [false, ""]] as const) {
    const stderr = new FakeSink();
    await printHint("Waiting", { stdin: new FakeSink(terminal), stderr });
    assertEquals(stderr.text, said);
  }
});
