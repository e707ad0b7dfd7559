import { ChatEnv } from "../envs/chat_env.ts";
import { type Env, replyAction } from "../envs/env.ts";
import { PythonInterpreter } from "../transforms/python_interpreter.ts";
import { TransformedEnv } from "../transforms/transformed_env.ts";
import { SandboxPool } from "../sandbox/pool.ts";
import { median, timings } from "./measure.ts";
import type { Row } from "./row.ts";
import type { BenchSetup } from "./sandbox_rows.ts";

const TASK = { id: "bench", query: "How many?" };
const TURNS = 50;

/** What an env costs by itself: a step without a tool, alone and with an interpreter that has nothing to run. */
export async function envRows(setup: BenchSetup): Promise<Row[]> {
  await using bare = new ChatEnv();
  await using pool = new SandboxPool({ ...setup, size: 1, resetMode: "rewind" });
  await using python = new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool })]);
  return [
    {
      what: "env step without tools, ChatEnv",
      value: await stepMicroseconds(bare, setup),
      unit: "µs",
    },
    {
      what: "env step without tools, PythonInterpreter around it",
      value: await stepMicroseconds(python, setup),
      unit: "µs",
    },
  ];
}

/** The median over episodes of what one of their steps takes. */
async function stepMicroseconds(env: Env, setup: BenchSetup): Promise<number> {
  const episode = async () => {
    for (let turn = 0; turn < TURNS; turn++) await env.step(replyAction("Let me think about that."));
  };
  const runs = 200 * setup.effort;
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    await env.reset(TASK);
    times.push(...await timings(episode, { runs: 1 }));
  }
  return 1000 * median(times) / TURNS;
}
