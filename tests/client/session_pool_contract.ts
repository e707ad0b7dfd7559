import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  ChatEnv,
  type ExecResult,
  PythonInterpreter,
  rollout,
  scriptedPolicy,
  type SessionPool,
  StepCounter,
  TransformedEnv,
} from "../../mod.ts";
import {
  type BranchingPool,
  CheckpointError,
  GuestFileError,
  SessionClosedError,
} from "../../mod/sandbox.ts";
import { value } from "../sandbox/started.ts";

/** Sessions that a tested pool must have. They need a shell, and nothing else may use them. */
export const CONTRACT_SIZE = 2;

type Case = (pool: SessionPool) => Promise<void>;

/** Behaviour of every session pool, in this process or on a server. */
export const SESSION_POOL_CONTRACT: Readonly<Record<string, Case>> = {
  "exec() returns the result of a program": async (pool) => {
    await using lease = await pool.acquire();
    const { session } = lease;
    assertEquals(await session.exec("print('a'); x = 20\nx + 1").then(plain), {
      status: "ok",
      stdout: "a\n",
      stderr: "",
      stateKept: true,
      truncated: false,
      value: "21",
      valueJson: 21,
    });
    const raised = await session.exec("import sys; print('e', file=sys.stderr); 1 / 0");
    assert(raised.status === "error" && raised.stderr.startsWith("e\n"));
    assertEquals(raised.error.type, "ZeroDivisionError");
    assertStringIncludes(raised.error.traceback, "Traceback (most recent call last):");
    assertEquals(plain(await session.exec("raise SystemExit(3)")), {
      status: "exited",
      stdout: "",
      stderr: "",
      stateKept: true,
      truncated: false,
      exitCode: 3,
    });
    const late = await session.exec("while True: pass", { timeoutMs: 200 });
    assertEquals([late.status, late.stateKept], ["timeout", true]);
    const lost = await session.exec("import os; os._exit(1)");
    assertEquals([lost.status, lost.stateKept], ["crashed", false]);
    const { status, restarted } = await session.exec("None");
    assertEquals([status, restarted], ["ok", true]);
  },
  "exec() runs programs in the order of the calls, in one namespace": async (pool) => {
    await using lease = await pool.acquire();
    await lease.session.exec("seen = []");
    const programs = Array.from({ length: 8 }, (_, at) => lease.session.exec(`seen.append(${at}); seen`));
    const [last] = (await Promise.all(programs)).slice(-1);
    assertEquals(last && value(last), "[0, 1, 2, 3, 4, 5, 6, 7]");
  },
  "exec() passes stdin and files, and returns the requested files": async (pool) => {
    await using lease = await pool.acquire();
    const { session } = lease;
    const result = await session.exec("open('out', 'w').write(input() + open('d/in').read())", {
      stdin: "hi\n",
      files: { "d/in": "é", raw: new Uint8Array([0, 255]) },
      fetchFiles: ["out", "raw", "missing"],
    });
    assertEquals(result.files, {
      out: new TextEncoder().encode("hié"),
      raw: new Uint8Array([0, 255]),
    });
  },
  "exec() passes inputs, and returns plain values as JSON": async (pool) => {
    await using lease = await pool.acquire();
    const { session } = lease;
    const inputs = { n: [1, { a: null }], raw: new Uint8Array([0, 255]), half: new Float64Array([0.5, NaN]) };
    for (const onOutput of [undefined, () => {}]) {
      const result = await session.exec("[n, list(raw), half.typecode, half[0]]", { inputs, onOutput });
      assert(result.status === "ok");
      assertEquals(result.valueJson, [[1, { a: null }], [0, 255], "d", 0.5]);
    }
    assertEquals("valueJson" in await session.exec("raw"), false);
    await assertRejects(() => session.exec("1", { inputs: { class: 1 } }), TypeError, "Python identifier");
    await assertRejects(() => session.exec("1", { inputs: { x: new Map() } }), TypeError, "plain JSON");
  },
  "exec() reports output while a program runs": async (pool) => {
    await using lease = await pool.acquire();
    const output = { stdout: "", stderr: "" };
    const onOutput = (stream: "stdout" | "stderr", text: string) => void (output[stream] += text);
    const code = "import sys\nfor at in range(3): print(at, flush=True)\nprint('e', file=sys.stderr)\n'ü'";
    const result = await lease.session.exec(code, { onOutput });
    assertEquals(output, { stdout: "0\n1\n2\n", stderr: "e\n" });
    assertEquals([result.stdout, value(result)], ["0\n1\n2\n", "'ü'"]);
  },
  "exec() is cancelled by its signal, and the session stays usable": async (pool) => {
    await using lease = await pool.acquire();
    const { session } = lease;
    await session.exec("kept = 1");
    for (const onOutput of [undefined, () => {}]) {
      const stop = new AbortController();
      const endless = session.exec("while True: pass", { timeoutMs: 600_000, signal: stop.signal, onOutput });
      setTimeout(() => stop.abort(new Error("enough")), 100);
      await assertRejects(() => endless, Error, "enough");
      assertEquals(value(await session.exec("kept")), "1");
    }
    const signal = AbortSignal.abort(new Error("too late"));
    await assertRejects(() => session.exec("1", { signal }), Error, "too late");
  },
  "shell() runs command lines on the same files": async (pool) => {
    await using lease = await pool.acquire();
    const { session } = lease;
    await session.writeFile("d/a.txt", "x\ny\n");
    const output: string[] = [];
    const onOutput = (stream: string, text: string) => void output.push(`${stream}: ${text}`);
    const result = await session.shell("cd d && wc -l < a.txt", { onOutput });
    assertEquals([result.status, result.cwd, output], ["ok", "/home/pyodide/d", ["stdout: 2\n"]]);
    const failed = await session.shell("cat; exit 7", { stdin: "in" });
    assertEquals([failed.status, failed.stdout], ["exited", "in"]);
    assertEquals(failed.status === "exited" && failed.exitCode, 7);
  },
  "writeFile() and readFile() transfer bytes and report errors": async (pool) => {
    await using lease = await pool.acquire();
    const { session } = lease;
    const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => at % 251);
    await session.writeFile("deep/er/ä b.bin", bytes);
    assertEquals(await session.readFile("deep/er/ä b.bin"), bytes);
    const missing = await assertRejects(() => session.readFile("none"), GuestFileError, "Cannot read 'none'");
    const inFile = await assertRejects(() => session.readFile("deep/er/ä b.bin/c"), GuestFileError);
    const folder = await assertRejects(() => session.readFile("deep"), GuestFileError, "is not a file");
    const unwritten = await assertRejects(
      () => session.writeFile("deep", "a"),
      GuestFileError,
      "Cannot write 'deep'",
    );
    assertEquals([missing.code, inFile.code, folder.code, unwritten.code], [
      "file_not_found",
      "file_not_found",
      "file_unreadable",
      "file_unwritable",
    ]);
    for (const path of ["../a", "/etc/passwd", "", "a\\b"]) {
      await assertRejects(() => session.readFile(path), TypeError, "Cannot use path");
      await assertRejects(() => session.writeFile(path, ""), TypeError, "Cannot use path");
    }
  },
  "reset() restores the initial state and sets the seed": async (pool) => {
    await using lease = await pool.acquire({ seed: 5 });
    const { session } = lease;
    const code = "import random; random.random()";
    const first = value(await session.exec(code));
    for (const mode of ["fresh", "rewind"] as const) {
      await session.exec("left = 1; open('left', 'w').close()");
      await session.reset({ mode, seed: 5 });
      assertEquals(
        value(await session.exec("import os; 'left' in globals() or os.path.exists('left')")),
        "False",
      );
      assertEquals(value(await session.exec(code)), first);
    }
    await assertRejects(() => session.reset({ mode: "soft" as "fresh" }), TypeError, "'fresh' or 'rewind'");
    await assertRejects(() => session.reset({ seed: NaN }), RangeError, "Cannot seed session");
  },
  "a session refuses invalid arguments": async (pool) => {
    await using lease = await pool.acquire();
    const { session } = lease;
    await assertRejects(() => session.exec("1", { timeoutMs: 0 }), RangeError, "'timeoutMs' must be > 0");
    await assertRejects(() => session.exec(1 as unknown as string), TypeError, "code must be a string");
    await assertRejects(() => session.shell("ls", { timeoutMs: -1 }), RangeError, "'timeoutMs' must be > 0");
    await assertRejects(() => pool.acquire({ seed: 0.5 }), RangeError, "Cannot seed session");
  },
  "acquire() waits for a free session and can be cancelled": async (pool) => {
    const first = await pool.acquire();
    await first.session.exec("left = 1");
    const second = await pool.acquire();
    const stop = new AbortController();
    const cancelled = pool.acquire({ signal: stop.signal });
    const waiting = pool.acquire();
    stop.abort(new Error("no longer needed"));
    await assertRejects(() => cancelled, Error, "no longer needed");
    await first[Symbol.asyncDispose]();
    const third = await waiting;
    assertEquals(value(await third.session.exec("'left' in globals()")), "False");
    await second[Symbol.asyncDispose]();
    await third[Symbol.asyncDispose]();
    await using _all = await pool.acquire();
    await using _again = await pool.acquire();
  },
  "an ended lease rejects all calls and aborts its program": async (pool) => {
    const lease = await pool.acquire();
    const endless = lease.session.exec("while True: pass", { timeoutMs: 600_000 });
    const over = assertRejects(() => endless, Error, "Cannot use session as its lease is over");
    await lease[Symbol.asyncDispose]();
    await lease[Symbol.asyncDispose]();
    await over;
    await assertRejects(() => lease.session.exec("1"), Error, "lease is over");
    await assertRejects(() => lease.session.readFile("a"), Error, "lease is over");
    await using _first = await pool.acquire();
    await using second = await pool.acquire();
    assertEquals(value(await second.session.exec("2")), "2");
  },
  "a PythonInterpreter runs an episode": async (pool) => {
    await using env = new TransformedEnv(new ChatEnv(), [
      new PythonInterpreter({ pool }),
      new StepCounter({ maxSteps: 2 }),
    ]);
    const replies = ["```python\nn = 6\n```", "```python\nprint(n * 7)\n```"];
    const task = { id: "a", query: "?", replies };
    const { messages } = await rollout(env, scriptedPolicy(), task);
    assertStringIncludes(JSON.stringify(messages.at(-1)), "42");
  },
};

type BranchingCase = (pool: BranchingPool) => Promise<void>;

/** Behaviour of every pool whose sessions can be kept, restored and forked. */
export const BRANCHING_POOL_CONTRACT: Readonly<Record<string, BranchingCase>> = {
  "restore() returns to a checkpoint, and runs nothing again": async (pool) => {
    await using lease = await pool.acquire();
    const { session } = lease;
    await session.exec("steps = iter('abc'); print('once'); next(steps)");
    await session.writeFile("notes", "x");
    const checkpoint = await session.checkpoint();
    await session.exec("next(steps); import os; os.remove('notes')");
    await session.restore(checkpoint);
    const result = await session.exec("next(steps), open('notes').read()");
    assertEquals([value(result), result.stdout], ["('b', 'x')", ""]);
    await using other = await pool.acquire({ from: checkpoint });
    assertEquals(value(await other.session.exec("next(steps)")), "'b'");
    await assertRejects(() => pool.acquire({ from: checkpoint, seed: 1 }), TypeError, "seed");
  },
  "checkpoint({ memory: false }) keeps the files alone": async (pool) => {
    await using lease = await pool.acquire();
    await lease.session.exec("x = 1; open('notes', 'w').write('y')");
    const checkpoint = await lease.session.checkpoint({ memory: false });
    await using other = await pool.acquire({ from: checkpoint });
    const look = "'x' in globals(), open('notes').read()";
    assertEquals(value(await other.session.exec(look)), "(False, 'y')");
    assertEquals(value(await lease.session.exec(look)), "(True, 'y')");
  },
  "fork() leases copies that do not see each other": async (pool) => {
    await using lease = await pool.acquire();
    await lease.session.exec("x = [1]");
    const [copy] = await lease.session.fork(1);
    assert(copy);
    await copy.session.exec("x.append(2)");
    assertEquals(value(await copy.session.exec("x")), "[1, 2]");
    assertEquals(value(await lease.session.exec("x")), "[1]");
    await copy[Symbol.asyncDispose]();
    await assertRejects(() => copy.session.exec("x"), SessionClosedError, "lease is over");
    await using _free = await pool.acquire();
    await assertRejects(() => lease.session.fork(CONTRACT_SIZE), Error, "count");
  },
  "readCheckpoint() reads the bytes of a checkpoint, and refuses changed ones": async (pool) => {
    await using lease = await pool.acquire();
    await lease.session.exec("x = 41");
    const checkpoint = await lease.session.checkpoint();
    const bytes = await checkpoint.toBytes();
    assertEquals(bytes.length, checkpoint.storedBytes);
    const read = await pool.readCheckpoint(bytes);
    assertEquals([read.id, read.storedBytes], [checkpoint.id, checkpoint.storedBytes]);
    await using other = await pool.acquire({ from: read });
    assertEquals(value(await other.session.exec("x + 1")), "42");
    const wrong = bytes.slice();
    wrong[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    const error = await assertRejects(() => pool.readCheckpoint(wrong), CheckpointError);
    assertEquals(error.code, "checkpoint_damaged");
    const cut = await assertRejects(() => pool.readCheckpoint(bytes.slice(0, 100)), CheckpointError);
    assertEquals(cut.code, "checkpoint_truncated");
  },
  "checkpoint() refuses a session with a pipe, which goes on": async (pool) => {
    await using lease = await pool.acquire();
    await lease.session.exec("import os; ends = os.pipe(); x = 1");
    for (const work of [() => lease.session.checkpoint(), () => lease.session.fork(1)]) {
      assertEquals((await assertRejects(work, CheckpointError)).code, "checkpoint_refused");
    }
    assertEquals(value(await lease.session.exec("x")), "1");
  },
};

/** Returns a result without its duration. */
function plain({ durationMs: _, peakMemoryBytes: _peak, ...rest }: ExecResult): object {
  return rest;
}
