import { Curriculum } from "../../../families/curriculum.ts";
import { FAMILY_PREFIX } from "../../../families/names.ts";
import { FAMILIES } from "../../../families/registry.ts";
import { requireFamily, type Split, taskMaker } from "../../../families/tasks.ts";
import type { Trajectory } from "../../../rollout/trajectory.ts";
import type { Task } from "../../../task.ts";
import { rethrowAsUsageError, UsageError } from "../../cli_errors.ts";

/** Name of the envs of families, in the lists of envs that options have. */
export const FAMILY_ENV = "family";

/** Flags that select the problems of a family. */
export interface FamilyFlags {
  env: string;
  /** Value of `--difficulty`: `3`, `1-5`, `auto` or `auto:3`. */
  difficulty?: string;
  split?: string;
  seed?: number;
  limit?: number;
  resume?: boolean;
}

/** Tasks that are made while a run plays them. */
export interface GeneratedTasks {
  readonly count: number;
  generate(): Iterable<Task> | AsyncIterable<Task>;
}

/** Problems of a run. */
export interface FamilyRun {
  readonly tasks: GeneratedTasks;
  /** Records an episode, by which a curriculum chooses the next difficulty. */
  record(trajectory: Trajectory): void;
  /** Returns a line about the curriculum for the end of the run; empty if there is no curriculum. */
  summary(): string;
}

/** Number of tasks of a run without a limit. */
export const FAMILY_TASKS = 100;

/** True if the value of `--env` names a family. */
export function isFamilyEnv(env: string): boolean {
  return env.startsWith(FAMILY_PREFIX);
}

/**
 * Opens the problems that the flags name.
 *
 * @throws {UsageError} if a flag is invalid.
 */
export async function openFamily(flags: FamilyFlags): Promise<FamilyRun> {
  const { env, split = "train", seed = 0, limit = FAMILY_TASKS, resume } = flags;
  const difficulties = parseDifficulty(flags.difficulty ?? "1");
  const curriculum = "auto" in difficulties
    ? await rethrowAsUsageError(() => new Curriculum({ difficulty: difficulties.auto }), {
      kinds: [RangeError],
    })
    : undefined;
  if (curriculum !== undefined && resume) {
    throw new UsageError(
      "Cannot resume with --difficulty auto as the episodes of the earlier run chose its tasks: give a difficulty",
    );
  }
  const makerOf = (difficulty: number) => taskMaker(env, { difficulty, split: split as Split, seed });
  const fixed = "auto" in difficulties
    ? undefined
    : await rethrowAsUsageError(() => difficulties.list.map(makerOf), { kinds: [RangeError] });
  await rethrowAsUsageError(() => makerOf(1), { kinds: [RangeError] });
  const makeTask = (index: number) => {
    const make = fixed?.[index % fixed.length] ?? makerOf(curriculum?.difficulty ?? 1);
    return make(index);
  };
  return {
    tasks: {
      count: limit,
      *generate() {
        for (let index = 0; index < limit; index++) yield makeTask(index);
      },
    },
    record: ({ task, reward }) => curriculum?.record({ difficulty: Number(task.fields?.difficulty), reward }),
    summary: () =>
      curriculum === undefined ? "" : `Difficulty of the next episode: ${curriculum.difficulty}\n`,
  };
}

/** Returns the profile that a family needs, in place of the default profile. */
export function familyProfile(env: string): "python" | "workspace" | undefined {
  return FAMILIES[requireFamily(env)].profile;
}

/**
 * Parses `3`, `1-5`, `auto` and `auto:3`.
 *
 * @throws {UsageError} for other texts.
 */
function parseDifficulty(text: string): { readonly list: readonly number[] } | { readonly auto: number } {
  const [auto, start = "1"] = /^auto(?::(\d{1,4}))?$/.exec(text) ?? [];
  if (auto !== undefined) return { auto: Number(start) };
  const [match, low = "", high = low] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(text) ?? [];
  if (match === undefined || Number(low) > Number(high)) {
    throw new UsageError(
      `Cannot make tasks as --difficulty must be a number, a range as in 1-5, or auto: current value is '${text}'`,
    );
  }
  return { list: Array.from({ length: Number(high) - Number(low) + 1 }, (_, at) => Number(low) + at) };
}
