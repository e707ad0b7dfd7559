import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { orThrow, ProgramError, Sandbox } from "../../mod.ts";
import { bad, ok } from "../fake_pool.ts";

Deno.test("Sandbox.start() takes the profile python, and orThrow() throws what a program did not reach", async () => {
  await using sandbox = await Sandbox.start();
  assertEquals(sandbox.profile.name, "python");
  await using session = await sandbox.openSession();
  assertEquals((await orThrow(session.exec("6 * 7"))).valueJson, 42);
  const error = await assertRejects(() => orThrow(session.exec("def f(): return 1 / 0\nf()")), ProgramError);
  assertEquals([error.name, error.code, error.result.status], ["ProgramError", "error", "error"]);
  for (const text of ["ZeroDivisionError", "line 1, in f"]) assertStringIncludes(error.message, text);
});

Deno.test("orThrow() has a message and a code for each status", async () => {
  assertEquals((await orThrow(ok("x"))).stdout, "x");
  for (const status of ["timeout", "memory", "output", "crashed"] as const) {
    const error = await assertRejects(() => orThrow(bad(status)), ProgramError);
    assertEquals(error.code, status);
    assertStringIncludes(error.message, `The program ended with status '${status}': ValueError: bad`);
  }
  const exited = await assertRejects(() => orThrow({ ...ok(), status: "exited", exitCode: 3 }), ProgramError);
  assertEquals(exited.message, "The program called sys.exit(3)");
});
