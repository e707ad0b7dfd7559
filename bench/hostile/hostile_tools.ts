/**
 * Prints how the blocks of an episode end whose code calls a hostile tool, and the longest wait, in milliseconds, of
 * another session meanwhile. Arguments: the root of the tree to test, and `hostile` or `honest`.
 */
import { z } from "zod";
import type * as Paddock from "../../mod.ts";
import type * as Library from "../../mod/sandbox.ts";

const EXECS = 30;
const LARGE = 100_000_000;
const [root = ".", mode = "honest"] = Deno.args;
const { ChatEnv, PythonInterpreter, replyAction, tool, TransformedEnv }: typeof Paddock = await import(
  `${root}/mod.ts`
);
const { loadProfile, SandboxPool }: typeof Library = await import(`${root}/mod/sandbox.ts`);

/** A block, what its tool does, and the statuses of the block that may follow. */
interface Block {
  readonly code: string;
  readonly run: () => unknown;
  readonly ends: readonly string[];
}

const TRY = "try: tools.call()\n    except ToolError: pass";
const HONEST: Record<string, Block> = { answers: { code: "tools.call()", run: () => 1, ends: ["ok"] } };
const HOSTILE: Record<string, Block> = {
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
  await env.reset({ id: "hostile", query: "" });
  const { toolResults: [result] } = await env.step(
    replyAction(`~~~python\nfrom paddock import ToolError, tools\n${code}\n~~~`),
  );
  const calls: Record<string, number> = {};
  for (const { status } of result?.calls ?? []) calls[status] = (calls[status] ?? 0) + 1;
  return { status: result?.status ?? "none", calls };
}

/** Runs small programs in another session until some work has ended, and returns the longest wait. */
async function longestWait(other: Library.PythonSession, work: Promise<unknown>): Promise<number> {
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
let longestMs = 0;
for (const [what, block] of Object.entries(mode === "hostile" ? HOSTILE : HONEST)) {
  const played = play(block);
  const waitMs = await longestWait(other.session, played);
  const { status, calls } = await played;
  longestMs = Math.max(longestMs, waitMs);
  isRight &&= block.ends.includes(status);
  const line = `a tool that ${what}: ${status}, calls ${JSON.stringify(calls)}, others ${
    Math.round(waitMs)
  } ms\n`;
  await Deno.stderr.write(new TextEncoder().encode(line));
}
await Deno.stdout.write(new TextEncoder().encode(`${Math.round(longestMs)}\n`));
if (!isRight) Deno.exit(1);
