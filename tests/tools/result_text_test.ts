import { assertEquals } from "@std/assert";
import type { ExecResult } from "../../src/sandbox/contract/exec.ts";
import { resultText } from "../../src/tools/result_text.ts";
import { bad, ok } from "../fake_pool.ts";

const exited: ExecResult = {
  status: "exited",
  exitCode: 3,
  stdout: "",
  stderr: "",
  durationMs: 1,
  stateKept: true,
  truncated: false,
};
const TRACEBACK = "Traceback …\nValueError: bad\n";

const cases: readonly { what: string; result: ExecResult; text: string }[] = [
  { what: "success", result: ok("2\n"), text: "executed successfully:\n2\n" },
  { what: "success without a newline", result: ok("2"), text: "executed successfully:\n2" },
  {
    what: "success with text on stderr",
    result: ok("2\n", { stderr: "careful\n" }),
    text: "executed successfully:\n2\n",
  },
  {
    what: "truncated output",
    result: ok("2", { truncated: true }),
    text: "executed successfully:\n2\n[output truncated]",
  },
  {
    what: "objects that are shown, but not the value",
    result: ok("2\n", {
      value: "<Table>",
      display: [{ "text/plain": "a", "text/html": "<b>" }, { "image/png": "AA==" }, { "text/html": "<i>" }],
    }),
    text: "executed successfully:\n2\na\n<image/png>",
  },
  { what: "an exception", result: bad("error"), text: `failed:\n${TRACEBACK}` },
  {
    what: "an exception after output",
    result: bad("error", { stdout: "before", stderr: "careful\n" }),
    text: `failed:\nbefore\ncareful\n${TRACEBACK}`,
  },
  { what: "a timeout", result: bad("timeout"), text: "failed:\nCode execution timed out" },
  {
    what: "a timeout that lost the state",
    result: bad("timeout", { stdout: "part\n", stateKept: false }),
    text: "failed:\npart\nCode execution timed out - process restarted",
  },
  { what: "exhausted memory", result: bad("memory"), text: "failed:\nCode ran out of memory" },
  {
    what: "exhausted memory that lost the state",
    result: bad("memory", { stateKept: false }),
    text: "failed:\nCode ran out of memory - process restarted",
  },
  {
    what: "too much output",
    result: bad("output", { stdout: "aaa", truncated: true }),
    text: "failed:\naaa\n[output truncated]\nCode wrote too much output and was interrupted",
  },
  { what: "an exit", result: exited, text: "failed:\nCode exited with exit code 3" },
  {
    what: "a crash",
    result: bad("crashed", { stateKept: false }),
    text: "failed:\nThe interpreter crashed and was restarted: all variables are lost",
  },
  {
    what: "a crash after which an earlier state was restored",
    result: bad("crashed", { restoredFrom: { lostCalls: 0, ageMs: 5 } }),
    text: "failed:\nThe interpreter crashed and was restored to an earlier state",
  },
  {
    what: "a timeout after which an earlier state was restored",
    result: bad("timeout", { restoredFrom: { lostCalls: 0, ageMs: 5 } }),
    text: "failed:\nCode execution timed out - earlier state restored",
  },
];

for (const { what, result, text } of cases) {
  Deno.test(`resultText() describes ${what}`, () => {
    assertEquals(resultText(2, result), `Code block 2 ${text}`);
  });
}
