import { readTasks } from "../datasets/read_tasks.ts";
import { DatasetError } from "../errors.ts";
import type { Policy } from "../policy/policy.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { Task } from "../task.ts";
import { requireSameRun } from "./require_same_run.ts";
import type { Summary } from "./summary.ts";
import { TrajectoryFile } from "./trajectory_file.ts";

/** What a run is asked for that decides about its file. */
export interface RolloutFileFlags {
  tasks?: string;
  split?: string;
  grader: string;
  out?: string;
  trainOut?: string;
  resume?: boolean;
  force?: boolean;
}

/**
 * Opens the file of a run, where it has one; the summary is told of what it goes on with.
 *
 * @throws {UsageError} when it cannot be written, or is that of another run.
 */
export async function openTrajectoryFile(
  flags: RolloutFileFlags,
  { summary, policy: { name } }: { summary: Summary; policy: Policy },
): Promise<TrajectoryFile | undefined> {
  const { out, trainOut, resume, force, grader, tasks: source, split } = flags;
  if (out === undefined) return undefined;
  const onKept = (trajectory: Trajectory) => {
    requireSameRun(trajectory, { out, policy: name, grader });
    if (trainOut === undefined) summary.addEarlier(trajectory); // else it may have to be played again
  };
  return await TrajectoryFile.open(out, {
    resume,
    force,
    mayResume: true,
    source,
    tasks: source === undefined ? undefined : soundTasks(source, split),
    onKeep: onKept,
  });
}

/** The rows that are tasks, as far as they can be read; what can be read only once, as a pipe, is left alone. */
async function* soundTasks(path: string, split: string | undefined): AsyncGenerator<Task> {
  const { isFile, isDirectory } = await Deno.stat(path);
  if (!isFile && !isDirectory) return;
  const faulty = new Set<Task>();
  try {
    for await (const task of readTasks(path, { split, onFault: (task) => void faulty.add(task) })) {
      if (!faulty.delete(task)) yield task;
    }
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof DatasetError)) throw error; // it is told where the tasks are played
  }
}
