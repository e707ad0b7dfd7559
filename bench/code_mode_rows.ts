import { z } from "zod";
import { replyAction } from "../src/envs/action.ts";
import { ChatEnv } from "../src/envs/chat_env.ts";
import { hostTool } from "../src/sandbox/host_tool.ts";
import { SandboxPool } from "../src/sandbox/pool.ts";
import { loadProfile } from "../src/sandbox/profile/profile.ts";
import { tool } from "../src/tools/tool.ts";
import { PythonInterpreter } from "../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../src/transforms/transformed_env.ts";
import { median, privateBytes, timings } from "./measure.ts";
import { treeCpuMs } from "./processes.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";
import { withWaitingExecutions } from "./waiting/executions.ts";

const CALLS = 10_000;
const PROGRAM = `from paddock import tools
total = 0
for n in range(${CALLS}): total = tools.add(total, n)`;
const add = {
  name: "add",
  description: "Adds two numbers.",
  parameters: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }: { a: number; b: number }) => a + b,
};
/** Blocks after which the memory of the host is compared. */
const BLOCKS = 10;
/** Executions that wait on a server. */
const WAITING = 1_000;

/** Measures a call of a tool from the code of an episode, beside the same call of a plain host tool, in turn. */
export async function codeModeRows(setup: BenchSetup): Promise<Row[]> {
  const profile = await loadProfile("tools");
  await using pool = new SandboxPool({ ...poolOptions(setup), profile, size: 2, resetMode: "rewind" });
  await using lease = await pool.acquire();
  const interpreter = new PythonInterpreter({ pool, tools: [tool(add)], timeoutMs: 60_000 });
  await using env = new TransformedEnv(new ChatEnv(), [interpreter]);
  const reply = replyAction(`~~~python\n${PROGRAM}\n~~~`);
  const plain = async () =>
    void await lease.session.exec(PROGRAM, { tools: [hostTool(add)], timeoutMs: 60_000 });
  const recorded = async () => {
    await env.reset({ id: "bench", query: "How many?" });
    await env.step(reply);
  };
  for (const run of [plain, recorded]) await timings(run, { runs: 2 });
  const before = await privateBytes(Deno.pid) ?? 0;
  const ms: number[] = [];
  const shares: number[] = [];
  for (let run = 0; run < BLOCKS * setup.effort; run++) {
    const earlier = await cpuMsOf(plain);
    const own = await cpuMsOf(async () => ms.push(...await timings(recorded, { runs: 1 })));
    shares.push(200 * own / (earlier + await cpuMsOf(plain))); // other work of the machine changes both
  }
  const growth = Math.max(0, (await privateBytes(Deno.pid) ?? 0) - before);
  return [
    {
      what: `call of a tool from the code of an episode, of ${CALLS} of a block`,
      value: median(ms) / CALLS,
      unit: "ms",
    },
    {
      what: "its CPU time, as a share of that of a call of a host tool",
      value: median(shares),
      unit: "%",
      bound: 120,
    },
    {
      what: `memory of the host after ${shares.length} more such blocks`,
      value: growth / 1e6,
      unit: "MB",
      bound: 64,
    },
    await waitingRow(),
  ];
}

/** Measures the memory that a program takes in a server while it waits for a person. */
async function waitingRow(): Promise<Row> {
  const bytes = await withWaitingExecutions(
    WAITING,
    ({ beforeBytes, afterBytes }) => (afterBytes - beforeBytes) / WAITING,
  );
  return { what: `memory of a server for an exec that waits, of ${WAITING}`, value: bytes / 1e3, unit: "kB" };
}

/** Returns the CPU time that this process and its sandboxes take for some work, in milliseconds. */
async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = await treeCpuMs();
  await work();
  return await treeCpuMs() - before;
}
