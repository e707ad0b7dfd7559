import { loadTokenizer } from "../chat/load_tokenizer.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { OwningEnv } from "../envs/owning_env.ts";
import type { AgentConfig } from "../envs/workspace/agent_config.ts";
import { loadAgentConfig } from "../envs/workspace/config/load_agent_config.ts";
import { loadWorkspaceTask } from "../envs/workspace/config/load_workspace_task.ts";
import { WorkspaceEnv, type WorkspaceEnvOptions } from "../envs/workspace/workspace_env.ts";
import type { WorkspaceTask } from "../envs/workspace/workspace_task.ts";
import { Workspaces, type WorkspacesOptions } from "../envs/workspace/workspaces.ts";
import { TransformedEnv } from "../transforms/transformed_env.ts";
import { type MLGymOptions, mlgymTransforms } from "./mlgym_transforms.ts";

/** Options of {@linkcode mlgymEnv}. */
export interface MLGymEnvOptions extends MLGymOptions, Pick<WorkspaceEnvOptions, "timeoutMs" | "silenceMs"> {
  /**
   * Maximum number of steps. The next step evaluates the current work.
   *
   * @default 10
   */
  maxSteps?: number | undefined;
}

/** Options of {@linkcode makeMLGym}. */
export interface MakeMLGymOptions
  extends Omit<MLGymEnvOptions, "tokenizer">, Pick<WorkspacesOptions, "cacheDir" | "onBuild"> {
  /** Task: a folder with a `task.yaml`, a YAML file, or a loaded task. */
  task?: string | WorkspaceTask | undefined;
  /** Several tasks, of which each episode plays a random one; exclusive with `task`. */
  tasks?: readonly (string | WorkspaceTask)[] | undefined;
  /** Tokenizer or its folder. If set, each prompt is also given as text. */
  tokenizer?: Tokenizer | string | undefined;
  /**
   * Agent: a YAML file, or a loaded agent.
   *
   * @default Paddock's own agent
   */
  agent?: string | AgentConfig | undefined;
}

/**
 * Makes TorchRL's MLGym env: an agent works on a task in a shell, with one command per reply. The reward is the gain
 * over the baseline. The env owns its sandboxes.
 *
 * Python and the shell run in a sandbox. Submissions are scored in separate processes.
 *
 * @example
 * ```ts ignore
 * import { makeMLGym, openaiPolicy, rollout } from "@paddock/paddock";
 *
 * await using env = await makeMLGym({ task: "examples/workspace/bug_fixing" });
 * const policy = openaiPolicy({ url: "http://localhost:8000", model: "qwen" });
 * const { reward } = await rollout(env, policy, { id: "bug_fixing", query: "" });
 * ```
 *
 * @throws {RangeError} if not exactly one of `task` and `tasks` is set, or a task cannot be played.
 * @throws {SyntaxError} if a YAML file is invalid; the message has the file and the line.
 * @throws {Deno.errors.NotFound} if a file does not exist.
 */
export async function makeMLGym(options: MakeMLGymOptions): Promise<TransformedEnv> {
  const { task, tasks, tokenizer, agent, cacheDir, onBuild, ...rest } = options;
  if ((task === undefined) === (tasks === undefined)) {
    throw new RangeError(
      "Either task or tasks should be provided, not both and not none. " +
        `Got task=${describeTask(task)} and tasks=${describeTask(tasks)}.`,
    );
  }
  const loaded = await Promise.all((tasks ?? [task ?? ""]).map((each) => loadTask(each)));
  const workspaces = new Workspaces({
    tasks: loaded,
    cacheDir,
    onBuild,
    agent: typeof agent === "object" ? agent : await loadAgentConfig(agent),
  });
  const loadedTokenizer = typeof tokenizer === "string" ? await loadTokenizer(tokenizer) : tokenizer;
  const env = mlgymBase(workspaces, rest);
  const samples = tasks !== undefined;
  const { agent: loadedAgent } = workspaces;
  return new TransformedEnv(
    new OwningEnv(env, workspaces),
    mlgymTransforms({ ...rest, tasks: loaded, agent: loadedAgent, samples, tokenizer: loadedTokenizer }),
  );
}

/** Makes the MLGym env over shared workspaces. The task of an episode selects the workspace. */
export function mlgymEnv(workspaces: Workspaces, options: MLGymEnvOptions = {}): TransformedEnv {
  const { tasks, agent } = workspaces;
  const transforms = mlgymTransforms({ ...options, tasks, agent, samples: false });
  return new TransformedEnv(mlgymBase(workspaces, options), transforms);
}

function mlgymBase(workspaces: Workspaces, options: MLGymEnvOptions): WorkspaceEnv {
  const { maxSteps = 10, timeoutMs, silenceMs } = options;
  return new WorkspaceEnv({ workspaces: (id) => workspaces.workspace(id), maxSteps, timeoutMs, silenceMs });
}

async function loadTask(task: string | WorkspaceTask): Promise<WorkspaceTask> {
  return typeof task === "string" ? await loadWorkspaceTask(task) : task;
}

function describeTask(task: MakeMLGymOptions["task"] | MakeMLGymOptions["tasks"]): string {
  if (task === undefined) return "None";
  if (typeof task === "string") return `'${task}'`;
  return "id" in task ? `'${task.id}'` : `[${task.map(describeTask).join(", ")}]`;
}
