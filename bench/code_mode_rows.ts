import { z } from "zod";
import { replyAction } from "../src/envs/action.ts";
import { ChatEnv } from "../src/envs/chat_env.ts";
import { hostTool } from "../src/sandbox/host_tool.ts";
import { SandboxPool } from "../src/sandbox/pool.ts";
import { loadProfile } from "../src/sandbox/profile/profile.ts";
import { tool } from "../src/tools/tool.ts";
import { PythonInterpreter } from "../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../src/transforms/transformed_env.ts";
import { median, timings } from "./measure.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";

const CALLS = 1_000;
const PROGRAM = `from paddock import tools
total = 0
for n in range(${CALLS}): total = tools.add(total, n)`;
const add = {
  name: "add",
  description: "Adds two numbers.",
  parameters: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }: { a: number; b: number }) => a + b,
};

/** Measures a call of a tool from the code of an episode, beside the same call of a plain host tool, in turn. */
export async function codeModeRows(setup: BenchSetup): Promise<Row[]> {
  const profile = await loadProfile("tools");
  await using pool = new SandboxPool({ ...poolOptions(setup), profile, size: 2, resetMode: "rewind" });
  await using lease = await pool.acquire();
  const interpreter = new PythonInterpreter({ pool, tools: [tool(add)], timeoutMs: 60_000 });
  await using env = new TransformedEnv(new ChatEnv(), [interpreter]);
  await env.reset({ id: "bench", query: "How many?" });
  const reply = replyAction(`~~~python\n${PROGRAM}\n~~~`);
  const plain = async () =>
    void await lease.session.exec(PROGRAM, { tools: [hostTool(add)], timeoutMs: 60_000 });
  const recorded = async () => void await env.step(reply);
  const times: { plain: number[]; recorded: number[] } = { plain: [], recorded: [] };
  for (const run of [plain, recorded]) await timings(run, { runs: 3 });
  for (let run = 0; run < 10 * setup.effort; run++) {
    times.plain.push(...await timings(plain, { runs: 1 }));
    times.recorded.push(...await timings(recorded, { runs: 1 }));
  }
  const [bare, value] = [median(times.plain), median(times.recorded)];
  return [
    { what: "call of a tool from the code of an episode", value: value / CALLS, unit: "ms" },
    { what: "the same, as a multiple of a call of a host tool", value: value / bare, unit: "×", bound: 1.2 },
  ];
}
