import { assertEquals } from "@std/assert";
import { exitCode, Interrupt, reportFailure } from "../../src/cli/run_command.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { SandboxError } from "../../src/errors.ts";
import type { ExecResult } from "../../src/sandbox/contract/exec.ts";
import { bad, ok } from "../fake_pool.ts";

async function report(error: unknown, signal = new AbortController().signal): Promise<[number, string]> {
  let written = "";
  const stderr = {
    write: (bytes: Uint8Array) => {
      written += new TextDecoder().decode(bytes);
      return Promise.resolve(bytes.length);
    },
  };
  return [await reportFailure(error, { signal, stderr }), written];
}

Deno.test("reportFailure() distinguishes wrong usage from a failed sandbox", async () => {
  assertEquals(await report(new UsageError("no such thing")), [2, "error: no such thing\n"]);
  assertEquals(await report(new SandboxError("no start")), [125, "error: no start\n"]);
  assertEquals(await report(new Deno.errors.PermissionDenied("no cache")), [125, "error: no cache\n"]);
});

Deno.test("reportFailure() prints nothing for an interrupt or a closed pipe", async () => {
  assertEquals(await report(new SandboxError("killed"), AbortSignal.abort()), [130, ""]);
  assertEquals(await report(new Deno.errors.BrokenPipe("closed")), [0, ""]);
});

Deno.test("exitCode() returns a different code for each status", () => {
  const statuses = ["error", "timeout", "memory", "output", "crashed"] as const;
  assertEquals(exitCode(ok()), 0);
  assertEquals(statuses.map((status) => exitCode(bad(status))), [1, 124, 137, 1, 134]);
});

Deno.test("exitCode() returns the program's own code within the range of a process", () => {
  const exited = (exitCode: number): ExecResult => ({ ...ok(), status: "exited", exitCode });
  assertEquals([3, 255, 256, -1].map((code) => exitCode(exited(code))), [3, 255, 0, 255]);
});

Deno.test("Interrupt listens to the signals that the system has", () => {
  const { addSignalListener } = Deno;
  const added: string[] = [];
  Deno.addSignalListener = (name, listener) => {
    if (name === "SIGHUP") throw new TypeError("Windows has no such signal");
    added.push(name);
    addSignalListener(name, listener);
  };
  try {
    using interrupt = new Interrupt();
    assertEquals(interrupt.signal.aborted, false);
  } finally {
    Deno.addSignalListener = addSignalListener;
  }
  assertEquals(added, ["SIGINT", "SIGTERM"]);
});
