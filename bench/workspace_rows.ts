import { dirname, join } from "node:path";
import { loadAgentConfig } from "../src/envs/workspace/config/load_agent.ts";
import type { EvaluationOutcome, Evaluator } from "../src/envs/workspace/evaluation.ts";
import { Workspace } from "../src/envs/workspace/workspace.ts";
import { WorkspaceEnv } from "../src/envs/workspace/workspace_env.ts";
import type { WorkspaceFile, WorkspaceTask } from "../src/envs/workspace/task.ts";
import { summarize, timings } from "./measure.ts";
import type { Row } from "./row.ts";
import type { BenchSetup } from "./sandbox_rows.ts";
import { SESSION, SESSION_FILES } from "./workspace_session.ts";

const EPISODE = { id: "bench", query: "" };

/** Measures an episode in a workspace: reset by rewind, one step, and a session of many without evaluations. */
export async function workspaceRows({ cacheDir, onBuild, effort }: BenchSetup): Promise<Row[]> {
  const directory = await Deno.makeTempDir();
  try {
    const task = await writeTask(directory);
    const [agent, evaluator] = [await loadAgentConfig(), new NoEvaluator()];
    await using workspace = await Workspace.open({ task, agent, evaluator, cacheDir, onBuild });
    await using env = new WorkspaceEnv({ workspaces: () => workspace, maxSteps: 1_000_000 });
    const session = () => playSession(env);
    const sessions = await timings(session, { runs: 5 * effort, warmup: 2 });
    const resets: number[] = [];
    for (let run = 0; run < 30 * effort; run++) {
      resets.push(...await timings(() => env.reset(EPISODE), { runs: 1 }));
      await env.step({ command: "mkdir d; for i in {1..20}; do echo $i > d/$i; done" });
    }
    const steps = await timings(() => env.step({ command: "true" }), { runs: 200 * effort, warmup: 50 });
    const what = "workspace:";
    return [
      { what: `${what} reset by rewind, files included`, ...summarize(resets), unit: "ms", bound: 15 },
      { what: `${what} step that runs 'true', state included`, ...summarize(steps), unit: "ms" },
      {
        what: `${what} session of ${SESSION.length} steps, without evaluations`,
        ...summarize(sessions),
        unit: "ms",
        bound: 3_000,
      },
    ];
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function playSession(env: WorkspaceEnv): Promise<void> {
  await env.reset(EPISODE);
  for (const command of SESSION) await env.step({ command });
}

async function writeTask(directory: string): Promise<WorkspaceTask> {
  const starter: WorkspaceFile[] = [];
  for (const [path, contents] of Object.entries(SESSION_FILES)) {
    const hostPath = join(directory, path);
    await Deno.mkdir(dirname(hostPath), { recursive: true });
    await Deno.writeTextFile(hostPath, contents);
    starter.push({ path, hostPath });
  }
  const [script = { path: "", hostPath: directory }] = starter;
  return {
    id: EPISODE.id,
    name: "A bench",
    description: "",
    fields: {},
    starter,
    readOnly: [],
    data: [],
    evaluation: {
      kind: "module",
      script,
      files: [],
      submission: ["answer.txt"],
      timeoutMs: 1_000,
      directions: {},
    },
    trainingTimeoutMs: 60_000,
    commandFiles: [],
  };
}

/** Replaces the evaluation, which is not measured here. */
class NoEvaluator implements Evaluator {
  evaluate(): Promise<EvaluationOutcome> {
    return Promise.resolve({ status: "scored", scores: { Score: 1 }, artefact: "answer.txt" });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
