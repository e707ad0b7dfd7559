import { join } from "node:path";
import { type Profile, SandboxPool } from "../../../mod/sandbox.ts";
import type { AgentConfig } from "../../../src/envs/workspace/agent_config.ts";
import type {
  EvaluateOptions,
  EvaluationOutcome,
  Evaluator,
  Submission,
  WorkspaceStep,
} from "../../../src/envs/workspace/evaluation.ts";
import type { WorkspaceFile, WorkspaceTask } from "../../../src/envs/workspace/task.ts";
import { profileOfTask, Workspace } from "../../../src/envs/workspace/workspace.ts";
import { WorkspaceEnv, type WorkspaceEnvOptions } from "../../../src/envs/workspace/workspace_env.ts";

/** An agent whose commands are a few lines of shell. */
export const AGENT: AgentConfig = {
  systemTemplate: "",
  taskTemplate: "",
  nextStepTemplate: "",
  nextStepNoOutputTemplate: "",
  demonstrations: [],
  putDemosInHistory: false,
  formatErrorTemplate: "",
  outputParser: "ThoughtActionParser",
  tools: {
    variables: { WINDOW: 3, CURRENT_FILE: "", SEARCH_RESULTS: "()" },
    commandFiles: [
      {
        name: "marks.sh",
        kind: "source",
        contents: [
          'submit() {\n  echo "<<SUBMISSION||"\n  echo file\n  echo "||SUBMISSION>>"\n}',
          'validate() { echo "<<VALIDATION||file||VALIDATION>>"; }',
          'open() { CURRENT_FILE="$PWD/$1"; head -n "$WINDOW" "$1"; }',
        ].join("\n"),
      },
      {
        name: "shout.py",
        kind: "script",
        contents: "#!/usr/bin/env python\nimport sys\nprint('AHA', sys.argv[1:])\n",
      },
    ],
    commandDocs: "",
    endNames: { edit: "end_of_edit" },
    submitCommand: "submit",
    blocklist: ["vim", "git"],
    blocklistStandalone: ["python", "bash"],
    blocklistErrorTemplate: "'{name}' is not for here",
  },
};

/** Scores `answer.txt` by the number in it, and records the submissions. */
export class NumberEvaluator implements Evaluator {
  readonly given: Submission[] = [];
  readonly seeds: (number | undefined)[] = [];
  disposed = 0;

  // deno-lint-ignore require-await
  async evaluate(submission: Submission, { seed }: EvaluateOptions = {}): Promise<EvaluationOutcome> {
    this.given.push(submission);
    this.seeds.push(seed);
    const bytes = submission.get("answer.txt");
    if (bytes === undefined) return { status: "missing", message: "there is no 'answer.txt'" };
    const text = new TextDecoder().decode(bytes);
    const value = Number(text);
    if (Number.isNaN(value)) return { status: "malformed", output: text };
    if (value < 0) return { status: "failed", message: "it is less than nothing" };
    return { status: "scored", scores: { Score: value }, artefact: "answer.txt" };
  }

  // deno-lint-ignore require-await
  async [Symbol.asyncDispose](): Promise<void> {
    this.disposed++;
  }
}

/** What a test is given. */
export interface Opened {
  readonly env: WorkspaceEnv;
  readonly evaluator: NumberEvaluator;
  readonly workspace: Workspace;
  /** Runs a command as an agent's action. */
  act(command: string): ReturnType<WorkspaceEnv["step"]>;
}

/** What a test may ask for. */
export interface OpenOptions extends Partial<WorkspaceEnvOptions> {
  task?: Partial<WorkspaceTask>;
  plan?: Partial<WorkspaceTask["evaluation"]>;
  agent?: AgentConfig;
  /** Starter files instead of the default ones. */
  files?: Readonly<Record<string, string>>;
  sessions?: number;
  /** True if the workspace starts sandboxes of its own. Otherwise tests of one file and one profile share a pool. */
  ownsPool?: boolean;
}

// Sandboxes that serve several tests outlive the test that starts them.
Deno.test.sanitizer({ ops: false, resources: false });

/** Tasks of this file's tests, by the JSON of their files. */
const tasks = new Map<string, Promise<WorkspaceTask>>();
/** Pools of this file's tests, by the JSON of their profiles and sizes. */
const pools = new Map<string, SandboxPool>();
const folders: string[] = [];
let data: Promise<string> | undefined;

Deno.test.afterAll(async () => {
  for (const pool of pools.values()) await pool[Symbol.asyncDispose]();
  for (const folder of folders) await Deno.remove(folder, { recursive: true });
});

function sharedPool(profile: Profile, size: number): SandboxPool {
  const key = JSON.stringify([profile, size]);
  const pool = pools.get(key) ?? new SandboxPool({ profile, size, resetMode: "rewind" });
  pools.set(key, pool);
  return pool;
}

function writtenTask(files: Readonly<Record<string, string>>): Promise<WorkspaceTask> {
  const key = JSON.stringify(files);
  const task = tasks.get(key) ?? writeTask(files);
  tasks.set(key, task);
  return task;
}

/** Opens the workspace of a task with these files, and runs a test on an env over it that was reset. */
export async function withWorkspace(
  test: (opened: Opened) => Promise<void>,
  { task: changes, plan, agent = AGENT, files = FILES, sessions = 1, ownsPool, ...options }: OpenOptions = {},
): Promise<void> {
  const evaluator = new NumberEvaluator();
  const written = await writtenTask(files);
  const task = { ...written, evaluation: { ...written.evaluation, ...plan }, ...changes };
  const pool = ownsPool ? undefined : sharedPool(await profileOfTask(task), sessions);
  await using workspace = await Workspace.open({ task, agent, evaluator, pool, sessions });
  await using env = new WorkspaceEnv({ workspaces: () => workspace, ...options });
  await env.reset({ id: "bench", query: "" });
  await test({ env, evaluator, workspace, act: (command) => env.step({ command }) });
}

const FILES = { "answer.txt": "1\n", "src/run.py": "print(6 * 7)\n", "rules.txt": "be good\n" };

async function writeTask(files: Readonly<Record<string, string>>): Promise<WorkspaceTask> {
  const directory = await Deno.makeTempDir();
  folders.push(directory);
  const file = async (path: string, text: string) => {
    const hostPath = join(directory, path);
    await Deno.mkdir(join(hostPath, ".."), { recursive: true });
    await Deno.writeTextFile(hostPath, text);
    return { path, hostPath };
  };
  const starter: WorkspaceFile[] = [];
  for (const [path, text] of Object.entries(files)) starter.push(await file(path, text));
  return {
    id: "bench",
    name: "A bench",
    description: "Make the number larger.",
    fields: { id: "bench" },
    starter,
    readOnly: ["rules.txt"],
    data: [{ path: "data", hostPath: await (data ??= writeData()) }],
    evaluation: {
      kind: "module",
      script: await file("secret/evaluation.py", "SECRET = 'the expected values'\n"),
      files: [await file("secret/expected.csv", "the expected values\n")],
      submission: ["answer.txt"],
      timeoutMs: 10_000,
      directions: {},
    },
    trainingTimeoutMs: 60_000,
    commandFiles: [],
  };
}

/** Writes a folder of data. One for all tasks, so that their profiles are equal. */
async function writeData(): Promise<string> {
  const directory = await Deno.makeTempDir();
  folders.push(directory);
  await Deno.writeTextFile(join(directory, "train.csv"), "a,b\n1,2\n");
  return directory;
}

/** What a step printed. */
export async function output(step: Promise<WorkspaceStep>): Promise<string | null | undefined> {
  return (await step).workspace.output;
}

/** The state after a step, read. */
export async function state(step: Promise<WorkspaceStep>): Promise<unknown> {
  return JSON.parse((await step).workspace.state ?? "");
}
