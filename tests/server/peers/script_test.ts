import { assertEquals } from "@std/assert";
import { jailPath, toScriptOutcome } from "../../../src/server/peers/script.ts";

Deno.test("jailPath() returns paths under the working directory and refuses others", () => {
  for (const path of ["a/b.txt", "./a//b.txt", "/home/pyodide/a/b.txt"]) {
    assertEquals(jailPath(path), "a/b.txt");
  }
  for (const path of ["", ".", "/etc/passwd", "../a", "a/../../b", "a\\b", "a\0b"]) {
    assertEquals(jailPath(path), undefined, path);
  }
});

Deno.test("toScriptOutcome() returns the output and exit code of a process", () => {
  const outcome = { stdout: "a", stderr: "b\n", durationMs: 1, stateKept: true, truncated: false };
  const error = { type: "E", message: "m", traceback: "Traceback\n" };
  assertEquals(toScriptOutcome({ ...outcome, status: "ok", value: "1" }), {
    stdout: "a",
    stderr: "b\n",
    exitCode: 0,
  });
  assertEquals(toScriptOutcome({ ...outcome, status: "exited", exitCode: 3 }).exitCode, 3);
  assertEquals(toScriptOutcome({ ...outcome, status: "timeout", error }).exitCode, null);
  assertEquals(toScriptOutcome({ ...outcome, status: "error", error }).stderr, "b\nTraceback\n");
  assertEquals(toScriptOutcome({ ...outcome, status: "memory", stateKept: false, error }).exitCode, 137);
  assertEquals(
    toScriptOutcome({ ...outcome, status: "ok", truncated: true }).stderr,
    "b\nOutput is cut: it is longer than the sandbox lets a program print\n",
  );
});
