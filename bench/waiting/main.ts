// deno-lint-ignore-file no-console
// Measures programs that wait for a person: the memory of a server with many, and the end of a program that is killed
// at each of its calls.
import { z } from "zod";
import { hostTool, loadProfile, readCheckpoint, SandboxPool } from "../../mod/sandbox.ts";
import { privateBytes, quantile } from "../measure.ts";
import { processTree } from "../processes.ts";
import { Serving } from "../serving.ts";

const MB = 1e6;
/** Memory that the executions may take in the server, beside that of a server without any. */
const BOUND_BYTES = 200 * MB;
const OPENING_LANES = 4;

const TOOL = {
  name: "ask",
  description: "Asks a person.",
  parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
};

/** Returns a program whose calls depend on its random numbers and on all earlier answers. */
function program(calls: number): string {
  return `
import hashlib, random, uuid
from paddock import tools
seen = []
for n in range(${calls}):
    seen.append(tools.ask(q=f"{n} {random.random()} {uuid.uuid4()} {hashlib.sha256(repr(seen).encode()).hexdigest()}"))
    print(n, seen[-1])
hashlib.sha256(repr(seen).encode()).hexdigest()
`;
}

/** Prints a figure, and returns false if it is beyond its bound. */
function report(what: string, value: number, { unit, bound }: { unit: string; bound?: number }): boolean {
  const isRight = bound === undefined || value <= bound;
  const limit = bound === undefined ? "" : ` (at most ${bound}${isRight ? "" : ": EXCEEDED"})`;
  console.log(`${what}: ${Math.round(value * 100) / 100} ${unit}${limit}`);
  return isRight;
}

/** Kills a program at each of its calls, and compares its end with that of a run that was not killed. */
async function killAtEachCall(calls: number): Promise<boolean> {
  const profile = await loadProfile("tools");
  const ask = hostTool({ ...TOOL, parameters: z.object({ q: z.string() }), run: () => undefined });
  const options = { tools: [ask], suspendAt: "tool", timeoutMs: 60_000 } as const;
  const answerTo = (q: unknown) => `to ${q}`;
  const start = "import random; random.seed(5)";
  const open = async () => {
    const pool = new SandboxPool({ profile, size: 1 });
    const { session } = await pool.acquire({ seed: 3 });
    return { session, [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose]() };
  };

  await using whole = await open();
  await whole.session.exec(start);
  let expected = await whole.session.exec(program(calls), options);
  while (expected.status === "waiting") {
    expected = await whole.session.resume({ value: answerTo(expected.call.arguments.q) });
  }

  let bytes: Uint8Array = new Uint8Array();
  const resumeMs: number[] = [];
  for (let call = 0;; call++) {
    await using killed = await open();
    const { session } = killed;
    if (call === 0) {
      await session.exec(start);
      await session.exec(program(calls), options);
    } else {
      await session.restore(await readCheckpoint(bytes));
      const value = answerTo((await session.waitingCall())?.arguments.q);
      const { tools } = options;
      const result = await timed(() => session.resume({ value }, { tools, timeoutMs: 60_000 }), resumeMs);
      if (result.status !== "waiting") {
        const isSame = result.status === "ok" && expected.status === "ok" &&
          result.value === expected.value && result.stdout === expected.stdout;
        report(`a program of ${calls} calls, killed at each: runs`, call + 1, { unit: "runs" });
        report("resume in another process, the longest", quantile(resumeMs, 1), { unit: "ms" });
        report("checkpoint at the last call", bytes.length / 1e3, { unit: "kB" });
        console.log(isSame ? "the end is the same" : `THE END DIFFERS: ${JSON.stringify(result)}`);
        return isSame;
      }
    }
    bytes = await (await session.checkpoint()).toBytes();
    const pids = (await processTree(Deno.pid)).filter((pid) => pid !== Deno.pid);
    for (const pid of pids.reverse()) Deno.kill(pid, "SIGKILL");
  }
}

/** Adds the time that some work takes. */
async function timed<T>(work: () => Promise<T>, ms: number[]): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  ms.push(performance.now() - startedAt);
  return result;
}

/** Lets many programs of a server wait, and answers some of them. */
async function manyExecutions(count: number): Promise<boolean> {
  const folder = await Deno.makeTempDir();
  try {
    await using serving = await Serving.start(
      "-p",
      "tools",
      "--max-sessions",
      "4",
      "--state-dir",
      `${folder}/state`,
      "--hibernate-memory",
      "64",
    );
    const { pid } = serving.child;
    const ids: string[] = [];
    await openWaiting(serving, ids, Math.min(count, 20)); // the server has loaded all that it needs
    const before = await privateBytes(pid) ?? 0;
    await openWaiting(serving, ids, count);
    await new Promise((resolve) => setTimeout(resolve, 5_000)); // the server collects its garbage
    const after = await privateBytes(pid) ?? 0;
    const isSmall = report(`${count} executions that wait: memory of the server`, (after - before) / MB, {
      unit: "MB",
      bound: BOUND_BYTES / MB,
    });
    report("for each of them", (after - before) / 1e3 / count, { unit: "kB" });
    report("the same server with 20", before / MB, { unit: "MB" });
    return await answerSome(serving, ids) && isSmall;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function openWaiting(serving: Serving, ids: string[], count: number): Promise<void> {
  await Promise.all(Array.from({ length: OPENING_LANES }, async () => {
    while (ids.length < count) {
      const at = ids.push("") - 1;
      const options = { tools: [TOOL], ttlSeconds: 86_000 };
      const opened = await serving.ask("/v1/sessions", options) as { id?: string };
      const { id } = opened;
      if (id === undefined) throw new Error(`session ${at} is not opened: ${JSON.stringify(opened)}`);
      ids[at] = id;
      const body = { code: program(2), suspendAt: "tool" };
      const result = await serving.ask(`/v1/sessions/${id}/exec`, body) as { status?: string };
      if (result.status !== "waiting") {
        throw new Error(`execution ${at} does not wait: ${JSON.stringify(result)}`);
      }
      if (at % 500 === 499) await reportProgress(serving, at + 1);
    }
  }));
}

async function reportProgress({ child }: Serving, count: number): Promise<void> {
  const bytes = await privateBytes(child.pid) ?? 0;
  console.error(`${count} executions wait: memory of the server ${Math.round(bytes / MB)} MB`);
}

async function answerSome(serving: Serving, ids: readonly string[]): Promise<boolean> {
  const resumeMs: number[] = [];
  const step = Math.max(1, Math.floor(ids.length / 50));
  let wrong = 0;
  for (let at = 0; at < ids.length; at += step) {
    const resume = (value: string) => serving.ask(`/v1/sessions/${ids[at]}/resume`, { value });
    const result = await timed(() => resume("a") as Promise<{ status: string }>, resumeMs);
    const end = await resume("b") as { status: string; stdout: string };
    if (result.status !== "waiting" || end.status !== "ok" || end.stdout !== "0 a\n1 b\n") wrong++;
  }
  report("answer of one that hibernates, median", quantile(resumeMs, 0.5), { unit: "ms" });
  return report("wrong ends", wrong, { unit: "executions", bound: 0 });
}

const [executions = "10000", kills = "50"] = Deno.args;
const isRight = [await killAtEachCall(Number(kills)), await manyExecutions(Number(executions))].every(
  Boolean,
);
if (!isRight) Deno.exit(1);
