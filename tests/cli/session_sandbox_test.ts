import { assertEquals, assertNotEquals, assertObjectMatch, assertStringIncludes } from "@std/assert";
import { type Line, readLines } from "../../src/read_lines.ts";
import { childrenOf, isAlive } from "../../bench/processes.ts";
import { runPaddock, startPaddock } from "./run_paddock.ts";

const encoder = new TextEncoder();

/** A client of a `paddock session` process. */
class Driver {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #lines: AsyncGenerator<Line>;

  constructor(...args: string[]) {
    this.#child = startPaddock("session", ...args);
    this.#writer = this.#child.stdin.getWriter();
    this.#lines = readLines(this.#child.stdout, { maxBytes: 1 << 20 });
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Sends one request and waits for its response. */
  async ask(request: unknown): Promise<Record<string, unknown>> {
    await this.#writer.write(encoder.encode(`${JSON.stringify(request)}\n`));
    const { value } = await this.#lines.next();
    return JSON.parse(value && "text" in value ? value.text : "");
  }

  /** Interrupts the process as Ctrl-C does, and returns its exit code. */
  async interrupt(): Promise<number> {
    this.#child.kill("SIGINT");
    const { code } = await this.#child.status;
    await this.#writer.abort().catch(() => {}); // the reader may have closed it
    await this.#lines.return(undefined);
    await this.#child.stderr.cancel();
    return code;
  }
}

Deno.test("paddock session responds to each request before the next one arrives, and ends its sandbox when it is interrupted", async () => {
  const driver = new Driver("--seed", "7");
  assertObjectMatch(await driver.ask({ id: 1, code: "x = 20" }), { id: 1, status: "ok" });
  assertObjectMatch(await driver.ask({ id: 2, code: "x + int(input())", stdin: "22\n" }), { value: "42" });
  assertObjectMatch(await driver.ask({ id: 3, code: "while True: pass", timeoutMs: 100 }), {
    status: "timeout",
  });
  const binaryInputs = { raw: { type: "bytes", base64: "aGk=" }, a: { type: "int16", base64: "AQD//w==" } };
  const given = { id: 8, code: "[n, list(raw), list(a)]", inputs: { n: { m: null } }, binaryInputs };
  assertObjectMatch(await driver.ask(given), { valueJson: [{ m: null }, [104, 105], [1, -1]] });
  assertObjectMatch(await driver.ask({ id: 9, code: "1", inputs: { "a b": 1 } }), { status: "invalid" });
  assertObjectMatch(await driver.ask({ id: 4, code: "x", nope: 1 }), { id: 4, status: "invalid" });
  assertObjectMatch(await driver.ask({ id: 5, code: "x", timeoutMs: 0 }), { id: 5, status: "invalid" });
  assertEquals(await driver.ask({ id: 6, put: { "in/a.txt": "aGk=" } }), { id: 6, status: "ok" });
  assertObjectMatch(await driver.ask({ code: "open('in/a.txt').read(), x" }), {
    id: null,
    value: "('hi', 20)",
  });
  assertEquals(await driver.ask({ id: 7, get: ["in/a.txt", "none"] }), {
    id: 7,
    status: "ok",
    files: { "in/a.txt": "aGk=" },
  });
  assertEquals(await driver.ask({ id: 8, reset: "rewind" }), { id: 8, status: "ok" });
  assertObjectMatch(await driver.ask({ id: 9, code: "x" }), {
    status: "error",
    error: { type: "NameError" },
  });
  assertEquals(await driver.ask({ id: 10, reset: "fresh", seed: 3 }), { id: 10, status: "ok" });
  const sandboxes = await childrenOf(driver.pid);
  assertEquals(await driver.interrupt(), 130);
  assertEquals(await Promise.all(sandboxes.map(isAlive)), [false]);
});

Deno.test("paddock session keeps and restores its state, and addresses copies by their ids", async () => {
  const driver = new Driver();
  await driver.ask({ code: "steps = iter('abc'); first = next(steps); import random; random.seed(1)" });
  const { checkpoint, ...rest } = await driver.ask({ id: 1, checkpoint: true });
  assertObjectMatch(rest, { id: 1, status: "ok" });
  assertObjectMatch(await driver.ask({ code: "next(steps)" }), { value: "'b'" });
  assertEquals(await driver.ask({ id: 2, restore: checkpoint }), { id: 2, status: "ok" });
  assertEquals(await driver.ask({ id: 3, fork: 2, seed: 7 }), {
    id: 3,
    status: "ok",
    sessions: ["s1", "s2"],
  });
  assertObjectMatch(await driver.ask({ session: "s1", code: "next(steps)" }), { value: "'b'" });
  assertObjectMatch(await driver.ask({ session: "s1", code: "next(steps)" }), { value: "'c'" });
  assertObjectMatch(await driver.ask({ session: "s2", put: { "only-here": "" } }), { status: "ok" });
  assertObjectMatch(await driver.ask({ code: "import os; next(steps), os.listdir()" }), {
    value: "('b', [])",
  });
  const draw = async (session: string) => (await driver.ask({ session, code: "random.random()" })).value;
  assertNotEquals(await draw("s1"), await draw("s2"));
  assertEquals((await driver.ask({ session: "s1", fork: 1 })).sessions, ["s3"]);
  assertObjectMatch(await driver.ask({ session: "s3", restore: checkpoint }), { status: "ok" });
  assertObjectMatch(await driver.ask({ session: "s3", code: "next(steps)" }), { value: "'b'" });
  const { checkpoint: files } = await driver.ask({ session: "s2", checkpoint: true, memory: false });
  assertObjectMatch(await driver.ask({ session: "s3", restore: files }), { status: "ok" });
  assertObjectMatch(
    await driver.ask({ session: "s3", code: "import os; 'steps' in globals(), os.listdir()" }),
    {
      value: "(False, ['only-here'])",
    },
  );
  assertEquals(await driver.ask({ id: 4, session: "s1", end: true }), { id: 4, status: "ok" });
  assertObjectMatch(await driver.ask({ session: "s1", code: "1" }), { status: "invalid" });
  assertEquals(await driver.ask({ id: 5, forget: checkpoint }), { id: 5, status: "ok" });
  assertObjectMatch(await driver.ask({ restore: checkpoint }), { status: "invalid" });
  await driver.ask({ code: "import os; ends = os.pipe()" });
  assertObjectMatch(await driver.ask({ checkpoint: true }), { error: { code: "checkpoint_refused" } });
  const sandboxes = await childrenOf(driver.pid);
  assertEquals(await driver.interrupt(), 130);
  assertEquals(new Set(await Promise.all(sandboxes.map(isAlive))), new Set([false]));
});

Deno.test("paddock session runs shell commands when the profile has a shell", async () => {
  const driver = new Driver("-p", "workspace");
  assertObjectMatch(await driver.ask({ id: 1, shell: "cd /tmp; cat > f; false", stdin: "6 * 7" }), {
    id: 1,
    status: "exited",
    exitCode: 1,
    cwd: "/tmp",
    stderr: "",
  });
  assertObjectMatch(await driver.ask({ id: 2, code: "eval(open('/tmp/f').read())" }), { value: "42" });
  assertObjectMatch(await driver.ask({ id: 3, shell: "echo $?; pwd" }), {
    status: "ok",
    stdout: "1\n/tmp\n",
  });
  assertObjectMatch(await driver.ask({ id: 4, shell: "sleep 100", timeoutMs: 100 }), { status: "timeout" });
  assertObjectMatch(await driver.ask({ id: 5, shell: "ls", code: "1" }), { status: "invalid" });
  assertEquals(await driver.interrupt(), 130);
});

Deno.test("paddock session responds to every line in order, valid or not, and ends with its input", async () => {
  const lines = [
    '{"id":1,"code":"import os; os._exit(1)"}',
    "not json",
    new Uint8Array([0xff]),
    "",
    '{"id":2,"code":"1"}',
    `{"id":3,"code":"${"#".repeat(64 << 20)}"}`,
    '{"id":4,"code":"2"}',
  ];
  const input = await new Blob(lines.flatMap((line, at) => at === 0 ? [line] : ["\n", line])).bytes();
  const { code, stdout, stderr } = await runPaddock(["session"], input);
  const answers = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(answers.map(({ id, status, restarted }) => [id, status, restarted]), [
    [1, "crashed", undefined],
    [null, "invalid", undefined],
    [null, "invalid", undefined],
    [2, "ok", true],
    [null, "invalid", undefined],
    [4, "ok", undefined],
  ]);
  assertStringIncludes(answers[4].error.message, "a line must have at most 67108864 bytes");
  assertEquals([code, stderr], [0, ""]);
});

Deno.test("paddock session --checkpoint-every returns to the last checkpoint when the interpreter is lost", async () => {
  const driver = new Driver("--checkpoint-every", "exec");
  assertObjectMatch(await driver.ask({ code: "it = iter([6, 7]); next(it)" }), { value: "6" });
  assertObjectMatch(await driver.ask({ code: "import os; os._exit(1)" }), {
    status: "crashed",
    stateKept: true,
    restoredFrom: { lostCalls: 0 },
  });
  assertObjectMatch(await driver.ask({ code: "next(it)" }), { value: "7" });
  assertEquals(await driver.interrupt(), 130);
  const { code, stderr } = await runPaddock(["session", "--checkpoint-every", "0"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "It must be exec, or > 0 and <= 86400 seconds.");
});

Deno.test("paddock session waits at calls of tools, also after a restore", async () => {
  const driver = new Driver("-p", "tools");
  const tools = [{
    name: "ask",
    parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
  }];
  const code = "from paddock import tools\nprint('start')\ntools.ask(q='age?') + 1";
  const call = { callId: "call_1", name: "ask", arguments: { q: "age?" } };
  assertObjectMatch(await driver.ask({ id: 1, code, tools }), { status: "waiting", call, stdout: "start\n" });
  const { checkpoint } = await driver.ask({ checkpoint: true });
  assertObjectMatch(await driver.ask({ code: "1" }), { status: "invalid", error: { code: "exec_waiting" } });
  assertObjectMatch(await driver.ask({ resume: { value: 41 } }), { status: "ok", value: "42" });
  assertObjectMatch(await driver.ask({ resume: { value: 41 } }), { error: { code: "exec_not_waiting" } });
  assertObjectMatch(await driver.ask({ restore: checkpoint }), { status: "ok" });
  assertObjectMatch(await driver.ask({ resume: { value: 1 } }), { status: "invalid" });
  assertObjectMatch(await driver.ask({ resume: { value: 1 }, tools, callId: "call_1" }), {
    status: "ok",
    value: "2",
    stdout: "start\n",
  });
  await driver.interrupt();
});
