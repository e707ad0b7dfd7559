import { loadProfile, parseProfile, type Profile } from "../../sandbox/profile/profile.ts";
import { COMMANDS_PRELOAD } from "./commands/commands_preload.ts";
import { AGENT_HOME, WORKSPACE_FOLDER } from "./workspace_place.ts";
import type { WorkspaceTask } from "./workspace_task.ts";

/** Maximum output of a command: more than a model can read. */
const OUTPUT_BYTES = 256 * 1024;
const MAX_CPU_SECONDS = 24 * 3_600;

/**
 * Returns the profile of an agent's sandbox: a shell, the agent's commands, and the task's data and read-only files as
 * mounts. It holds no file of the evaluation.
 *
 * @throws {SyntaxError} if two of the task's files have the same path, or a path is reserved.
 */
export async function profileOfTask(task: WorkspaceTask): Promise<Profile> {
  const base = await loadProfile("workspace");
  const cpuSeconds = Math.ceil(task.trainingTimeoutMs / 1000);
  return {
    ...base,
    name: `task ${task.id}`,
    home: AGENT_HOME,
    preload: COMMANDS_PRELOAD,
    mounts: parseProfile(JSON.stringify({ mounts: mountsOf(task) }), { source: `task ${task.id}` }).mounts,
    limits: {
      ...base.limits,
      outputBytes: OUTPUT_BYTES,
      cpuSeconds: Math.min(MAX_CPU_SECONDS, Math.max(base.limits.cpuSeconds, cpuSeconds)),
    },
  };
}

function mountsOf({ data, starter, readOnly }: WorkspaceTask): Record<string, string> {
  const readOnlyFiles = starter.filter(({ path }) => readOnly.includes(path));
  return Object.fromEntries(
    [...data, ...readOnlyFiles].map(({ path, hostPath }) => [`${WORKSPACE_FOLDER}/${path}`, hostPath]),
  );
}
