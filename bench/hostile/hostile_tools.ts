/**
 * Plays blocks of an episode whose code calls hostile tools, and prints how each ends and the longest wait of another
 * session meanwhile. Exits with 1 if a block ends otherwise than it should, or the other session waits too long.
 */
import { z } from "zod";
import { ChatEnv, PythonInterpreter, replyAction, tool, TransformedEnv } from "../../mod.ts";
import { loadProfile, type PythonSession, SandboxPool } from "../../mod/sandbox.ts";

/** Longest wait of another session, in milliseconds. */
const BOUND_MS = 500;
/** Programs of the other session that are measured at least. */
const EXECS = 30;
const LARGE = 100_000_000;

/** A block, what its tool does, and the statuses of the block that may follow. */
interface Block {
  readonly code: string;
  readonly run: () => unknown;
  readonly ends: readonly string[];
}

const TRY = "try: tools.call()\n    except ToolError: pass";
const BLOCKS: Record<string, Block> = {
  "answers": { code: "tools.call()", run: () => 1, ends: ["ok"] },
  "never answers": { code: "tools.call()", run: () => new Promise(() => {}), ends: ["timeout"] },
  "answers 100 MB": {
    code: `for _ in range(1):\n    ${TRY}`,
    run: () => "x".repeat(LARGE),
    ends: ["ok"],
  },
  "throws what is no Error": {
    code: `for _ in range(1):\n    ${TRY}`,
    run: () => {
      throw undefined;
    },
    ends: ["ok"],
  },
  "is called a million times": {
    code: `for _ in range(1_000_000):\n    ${TRY}`,
    run: () => 1,
    ends: ["ok", "timeout", "cpu_exceeded"],
  },
};

/** Plays a block, and returns its status and the statuses of its calls. */
async function play({ code, run }: Block): Promise<{ status: string; calls: Record<string, number> }> {
  const call = tool({ name: "call", description: "Is called.", parameters: z.object({}), run });
  const interpreter = new PythonInterpreter({ pool, tools: [call], timeoutMs: 10_000 });
  await using env = new TransformedEnv(new ChatEnv(), [interpreter]);
  await env.reset({ id: "hostile", query: "Call it." });
  const { toolResults: [result] } = await env.step(
    replyAction(`~~~python\nfrom paddock import ToolError, tools\n${code}\n~~~`),
  );
  const calls: Record<string, number> = {};
  for (const { status } of result?.calls ?? []) calls[status] = (calls[status] ?? 0) + 1;
  return { status: result?.status ?? "none", calls };
}

/** Runs small programs in another session until some work has ended, and returns the longest wait. */
async function longestWait(other: PythonSession, work: Promise<unknown>): Promise<number> {
  let isRunning = true;
  const ended = work.finally(() => isRunning = false);
  let longestMs = 0;
  for (let count = 0; isRunning || count < EXECS; count++) {
    const startedAt = performance.now();
    await other.exec("1 + 1");
    longestMs = Math.max(longestMs, performance.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await ended;
  return longestMs;
}

await using pool = new SandboxPool({ profile: await loadProfile("tools"), size: 2, resetMode: "rewind" });
await using other = await pool.acquire();
await other.session.exec("1");
let isRight = true;
for (const [what, block] of Object.entries(BLOCKS)) {
  const played = play(block);
  const waitMs = await longestWait(other.session, played);
  const { status, calls } = await played;
  isRight &&= block.ends.includes(status) && waitMs <= BOUND_MS;
  const line = `a tool that ${what}: ${status}, calls ${JSON.stringify(calls)}, others ${
    Math.round(waitMs)
  } ms\n`;
  await Deno.stdout.write(new TextEncoder().encode(line));
}
if (!isRight) Deno.exit(1);
