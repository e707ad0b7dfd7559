import { assertEquals } from "@std/assert";
import type { ShellOptions, ShellResult } from "../../mod/sandbox.ts";
import { shellTool } from "../../mod.ts";

const END = { stdout: "", stderr: "", durationMs: 1, stateKept: true, truncated: false, cwd: "/" };
const ERROR = { type: "TimeoutError", message: "", traceback: "" };

/** Returns the text that the model reads for a result. */
async function textOf(result: ShellResult): Promise<unknown> {
  const tool = shellTool({ session: { shell: () => Promise.resolve(result) } });
  const signal = new AbortController().signal;
  return await tool.run({ command: "x" }, { signal, callId: "1", state: {} });
}

Deno.test("shellTool() returns the output of a command and how it ended", async () => {
  assertEquals(await textOf({ ...END, status: "ok", exitCode: 0 }), "");
  assertEquals(await textOf({ ...END, status: "ok", exitCode: 0, stdout: "a\nb\n" }), "a\nb");
  assertEquals(
    await textOf({ ...END, status: "exited", exitCode: 2, stdout: "a", stderr: "no\n" }),
    "a\nno\n[exit code 2]",
  );
  assertEquals(
    await textOf({
      ...END,
      status: "timeout",
      deadline: "run",
      stdout: "a\n",
      truncated: true,
      error: ERROR,
    }),
    "a\n[output truncated]\n[timed out]",
  );
  assertEquals(
    await textOf({ ...END, status: "crashed", stateKept: false, error: ERROR }),
    "[crashed; the shell was restarted, and its variables and files are lost]",
  );
  assertEquals(
    await textOf({ ...END, status: "crashed", restoredFrom: { lostCalls: 0, ageMs: 5 }, error: ERROR }),
    "[crashed; the shell and its files were restored to an earlier state]",
  );
});

Deno.test("shellTool() passes the command, its time limit and its signal to the session", async () => {
  const calls: [string, ShellOptions | undefined][] = [];
  const tool = shellTool({
    timeoutMs: 5,
    session: {
      shell(command, options) {
        calls.push([command, options]);
        return Promise.resolve({ ...END, status: "ok", exitCode: 0 });
      },
    },
  });
  const signal = new AbortController().signal;
  await tool.run({ command: "ls" }, { signal, callId: "1", state: {} });
  assertEquals(calls, [["ls", { timeoutMs: 5, signal }]]);
});
