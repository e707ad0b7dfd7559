import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { runReplBlock } from "../../src/cli/repl/block.ts";
import { ReplHistory } from "../../src/cli/repl/history.ts";
import type { ExecOptions, ExecResult } from "../../src/sandbox/contract/exec.ts";
import { bad, FakePool, ok } from "../fake_pool.ts";

/** Returns the screen after a block, and the exit code if the block ended the session. */
async function screen(
  python: (options: ExecOptions) => ExecResult | Promise<ExecResult>,
  options: { code?: string; signal?: AbortSignal; terminal?: boolean } = {},
): Promise<{ text: string; code: number | undefined }> {
  const { code = "x", signal = new AbortController().signal, terminal = false } = options;
  let text = "";
  const sink = {
    write: (bytes: Uint8Array) => {
      text += new TextDecoder().decode(bytes);
      return Promise.resolve(bytes.length);
    },
    isTerminal: () => terminal,
  };
  await using lease = await new FakePool((_code, _globals, execOptions) => python(execOptions)).acquire();
  const ended = await runReplBlock(lease.session, code, { stdout: sink, stderr: sink, signal });
  return { text, code: ended };
}

Deno.test("runReplBlock() shows output, a value on a line of its own, and tracebacks", async () => {
  const printing = await screen(({ onOutput }) => {
    onOutput?.("stdout", "a");
    return ok("a", { value: "5" });
  });
  assertEquals(printing, { text: "a\n5\n", code: undefined });
  assertEquals((await screen(() => bad("error"))).text, "Traceback …\nValueError: bad\n");
});

Deno.test("runReplBlock() escapes control characters of a program on a terminal", async () => {
  const python = ({ onOutput }: ExecOptions) => {
    onOutput?.("stdout", "\x1b[2J\n");
    return ok("", { value: "'\x9b'\u202e" });
  };
  assertEquals((await screen(python, { terminal: true })).text, "\\x1b[2J\n'\\x9b'\\u202e\n");
  assertEquals((await screen(python)).text, "\x1b[2J\n'\x9b'\u202e\n");
  const failing = { ...bad("error"), error: { type: "E", message: "", traceback: "E: \x1b]0;title\x07\n" } };
  assertEquals((await screen(() => failing, { terminal: true })).text, "E: \\x1b]0;title\\x07\n");
});

Deno.test("runReplBlock() reports a lost interpreter", async () => {
  const lost = await screen(() => bad("crashed", { stateKept: false }));
  assertEquals(
    lost.text,
    "Traceback …\nValueError: bad\npaddock: the interpreter and all variables were lost\n",
  );
  const fresh = await screen(() => ok("", { restarted: true }));
  assertEquals(fresh.text, "paddock: this block ran in a fresh interpreter, as the previous one was lost\n");
});

Deno.test("runReplBlock() returns the exit code when the program exits", async () => {
  assertEquals((await screen(() => ({ ...ok(), status: "exited", exitCode: 7 }))).code, 7);
  for (const code of ["exit", "quit()\n"]) assertEquals((await screen(() => ok(), { code })).code, 0);
  assertEquals((await screen(() => ok(), { code: "exit_code" })).code, undefined);
});

Deno.test("runReplBlock() continues after an interrupt", async () => {
  const controller = new AbortController();
  const interrupted = await screen(({ signal }) => {
    controller.abort(new Error("stop"));
    throw signal?.reason;
  }, { signal: controller.signal });
  assertEquals(interrupted, { text: "KeyboardInterrupt\n", code: undefined });
});

Deno.test("ReplHistory saves lines in a file that only its owner can read", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const path = join(directory, "cache", "repl_history");
    const history = await ReplHistory.load(path);
    assertEquals(history.lines, []);
    await Promise.all(["x = 1", "  "].map((line) => history.add(line)));
    await history.add("x");
    assertEquals((await ReplHistory.load(path)).lines, ["x", "x = 1"]);
    assertEquals((await Deno.stat(path)).mode ?? 0, 0o100600);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("ReplHistory.load() shortens a file that has grown long", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, Array.from({ length: 2001 }, (_, line) => `${line}\n`).join(""));
    assertEquals((await ReplHistory.load(path)).lines.length, 1000);
    assertEquals((await Deno.readTextFile(path)).split("\n")[0], "1001");
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("ReplHistory.add() keeps lines in memory when the file cannot be written", async () => {
  const history = await ReplHistory.load("/dev/null/repl_history");
  await history.add("x");
  assertEquals(history.lines, []);
});
