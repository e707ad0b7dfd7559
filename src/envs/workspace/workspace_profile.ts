import { loadProfile, parseProfile, type Profile } from "../../sandbox/profile.ts";
import { COMMANDS_PRELOAD } from "./commands/commands_preload.ts";
import { AGENT_HOME, WORKSPACE } from "./workspace_place.ts";
import type { WorkspaceTask } from "./workspace_task.ts";

/** As much output as a model can read, and some more. */
const OUTPUT_BYTES = 256 * 1024;
const MAX_CPU_SECONDS = 24 * 3_600;

/**
 * The profile of an agent's sandbox: a shell, what the agent's commands need, and the task's data and read-only files in their places. Nothing of the
 * evaluation is in it.
 *
 * @throws {SyntaxError} when two of the task's files claim one place, or a place that is taken.
 */
export async function workspaceProfile(task: WorkspaceTask): Promise<Profile> {
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
  const closed = starter.filter(({ path }) => readOnly.includes(path));
  return Object.fromEntries(
    [...data, ...closed].map(({ path, hostPath }) => [`${WORKSPACE}/${path}`, hostPath]),
  );
}
