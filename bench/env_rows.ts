import { ChatEnv } from "../src/envs/chat_env.ts";
import { replyAction } from "../src/envs/action.ts";
import type { Env } from "../src/envs/env.ts";
import { VectorEnv } from "../src/envs/vector_env.ts";
import { SandboxPool } from "../src/sandbox/pool.ts";
import { PythonInterpreter } from "../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../src/transforms/transformed_env.ts";
import { median, timings } from "./measure.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";

const TASK = { id: "bench", query: "How many?" };
const TURNS = 50;
const REPLY = replyAction("Let me think about that.");
/** Some milliseconds of work, so that a batch can use several cores. */
const CODE_REPLY = replyAction("```python\nsum(i * i for i in range(40_000))\n```");
const BATCHES = [1, 8, 64] as const;

/** Measures the overhead of an env: a step without a tool, alone and with an interpreter that runs nothing. */
export async function envRows(setup: BenchSetup): Promise<Row[]> {
  await using bare = new ChatEnv();
  await using pool = new SandboxPool({ ...poolOptions(setup), size: 1, resetMode: "rewind" });
  await using python = new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool })]);
  const what = "env step without tools";
  return [
    { what: `${what}, ChatEnv`, value: await stepMicroseconds(bare, setup), unit: "µs" },
    { what: `${what}, with an interpreter`, value: await stepMicroseconds(python, setup), unit: "µs" },
  ];
}

/** Returns the median duration of a step over episodes, in microseconds. */
async function stepMicroseconds(env: Env, setup: BenchSetup): Promise<number> {
  const episode = async () => {
    for (let turn = 0; turn < TURNS; turn++) await env.step(REPLY);
  };
  const times: number[] = [];
  for (let run = 0; run < 200 * setup.effort; run++) {
    await env.reset(TASK);
    times.push(...await timings(episode, { runs: 1 }));
  }
  return 1000 * median(times) / TURNS;
}

/** Measures steps per second, each with some milliseconds of Python, by the batch size of envs. */
export async function vectorRows(setup: BenchSetup): Promise<Row[]> {
  const rows: Row[] = [];
  for (const size of BATCHES) {
    const value = await batchRate(size, setup);
    rows.push({ what: `VectorEnv steps of about 10 ms, batch of ${size}`, value, unit: "/s" });
  }
  return rows;
}

async function batchRate(size: number, setup: BenchSetup): Promise<number> {
  await using pool = new SandboxPool({
    ...poolOptions(setup),
    profile: dense(setup),
    size,
    resetMode: "rewind",
  });
  await using env = new VectorEnv({
    makeEnv: () => new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool })]),
    batchSize: size,
  });
  await env.reset(TASK.query);
  const step = () => env.step(Array(size).fill(CODE_REPLY));
  const times = await timings(step, { runs: 5 * setup.effort, warmup: 3 });
  return 1000 * size / median(times);
}

/** Returns the profile with several interpreters in a process, as for a batch of one policy's envs. */
function dense({ profile }: BenchSetup): BenchSetup["profile"] {
  return { ...profile, sessionsPerProcess: 8 };
}
