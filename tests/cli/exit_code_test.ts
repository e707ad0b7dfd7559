import { assertEquals } from "@std/assert";
import { exitCode } from "../../src/cli/exit_code.ts";
import type { ExecResult } from "../../src/sandbox/exec.ts";
import { bad, ok } from "../fake_pool.ts";

Deno.test("exitCode() has a code for each status", () => {
  const statuses = ["error", "timeout", "memory", "output", "crashed"] as const;
  assertEquals(exitCode(ok()), 0);
  assertEquals(statuses.map((status) => exitCode(bad(status))), [1, 124, 137, 1, 134]);
});

Deno.test("exitCode() gives the program's own code, as a process can have it", () => {
  const exited = (exitCode: number): ExecResult => ({ ...ok(), status: "exited", exitCode });
  assertEquals([3, 255, 256, -1].map((code) => exitCode(exited(code))), [3, 255, 0, 255]);
});
