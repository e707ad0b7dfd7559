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

/** How an episode of a workspace is played through the wrapper. */
export interface MLGymEnvOptions extends MLGymOptions, Pick<WorkspaceEnvOptions, "timeoutMs" | "silenceMs"> {
  /** Steps until the work is evaluated as it is; 10 unless given. */
  maxSteps?: number | undefined;
}

/** What {@linkcode makeMLGym} is told. */
export interface MakeMLGymOptions
  extends Omit<MLGymEnvOptions, "tokenizer">, Pick<WorkspacesOptions, "cacheDir" | "onBuild"> {
  /** The task: a folder with a `task.yaml`, or a YAML file, or one that is loaded. */
  task?: string | WorkspaceTask | undefined;
  /** Several tasks, of which each episode plays one by chance; exclusive with `task`. */
  tasks?: readonly (string | WorkspaceTask)[] | undefined;
  /** Gives each prompt as text: a tokenizer, or the folder of one. */
  tokenizer?: Tokenizer | string | undefined;
  /** The agent's YAML, or one that is loaded; Paddock's own unless given. */
  agent?: string | AgentConfig | undefined;
}

/**
 * MLGym's wrapper: an env in which an agent works on a task in a shell, one command a reply, and is rewarded for how
 * much better than the baseline its work is. The env owns its sandboxes.
 *
 * Python and the shell run in the sandbox; what is submitted is scored apart from it.
 *
 * @throws {RangeError} when not exactly one of `task` and `tasks` is given, or one cannot be played.
 * @throws {SyntaxError} when a YAML file is wrong, with the file and the line.
 * @throws {Deno.errors.NotFound} when there is no such file.
 */
export async function makeMLGym(options: MakeMLGymOptions): Promise<TransformedEnv> {
  const { task, tasks, tokenizer, agent, cacheDir, onBuild, ...rest } = options;
  if ((task === undefined) === (tasks === undefined)) {
    throw new RangeError(
      "Either task or tasks should be provided, not both and not none. " +
        `Got task=${named(task)} and tasks=${named(tasks)}.`,
    );
  }
  const loaded = await Promise.all((tasks ?? [task ?? ""]).map((each) => loadedTask(each)));
  const workspaces = new Workspaces({
    tasks: loaded,
    cacheDir,
    onBuild,
    agent: typeof agent === "object" ? agent : await loadAgentConfig(agent),
  });
  const own = typeof tokenizer === "string" ? await loadTokenizer(tokenizer) : tokenizer;
  const env = mlgymBase(workspaces, rest);
  const samples = tasks !== undefined;
  const { agent: played } = workspaces;
  return new TransformedEnv(
    new OwningEnv(env, workspaces),
    mlgymTransforms({ ...rest, tasks: loaded, agent: played, samples, tokenizer: own }),
  );
}

/** The wrapper over workspaces that many episodes share; an episode's task says which it plays. */
export function mlgymEnv(workspaces: Workspaces, options: MLGymEnvOptions = {}): TransformedEnv {
  const { tasks, agent } = workspaces;
  const transforms = mlgymTransforms({ ...options, tasks, agent, samples: false });
  return new TransformedEnv(mlgymBase(workspaces, options), transforms);
}

function mlgymBase(workspaces: Workspaces, options: MLGymEnvOptions): WorkspaceEnv {
  const { maxSteps = 10, timeoutMs, silenceMs } = options;
  return new WorkspaceEnv({ workspaces: (id) => workspaces.workspace(id), maxSteps, timeoutMs, silenceMs });
}

async function loadedTask(task: string | WorkspaceTask): Promise<WorkspaceTask> {
  return typeof task === "string" ? await loadWorkspaceTask(task) : task;
}

function named(task: MakeMLGymOptions["task"] | MakeMLGymOptions["tasks"]): string {
  if (task === undefined) return "None";
  if (typeof task === "string") return `'${task}'`;
  return "id" in task ? `'${task.id}'` : `[${task.map(named).join(", ")}]`;
}
