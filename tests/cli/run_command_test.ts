import { assertEquals } from "@std/assert";
import { reportFailure } from "../../src/cli/run_command.ts";
import { UsageError } from "../../src/cli/usage_error.ts";
import { SandboxError } from "../../src/errors.ts";

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

Deno.test("reportFailure() tells wrong usage from a sandbox that failed", async () => {
  assertEquals(await report(new UsageError("no such thing")), [2, "error: no such thing\n"]);
  assertEquals(await report(new SandboxError("no start")), [125, "error: no start\n"]);
  assertEquals(await report(new Deno.errors.PermissionDenied("no cache")), [125, "error: no cache\n"]);
});

Deno.test("reportFailure() is silent about an interrupt and about a closed pipe", async () => {
  assertEquals(await report(new SandboxError("killed"), AbortSignal.abort()), [130, ""]);
  assertEquals(await report(new Deno.errors.BrokenPipe("closed")), [0, ""]);
});
