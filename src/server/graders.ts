import type * as z from "zod";
import { SandboxError } from "../errors.ts";
import { History } from "../history.ts";
import { messageText } from "../message.ts";
import { Deadline } from "../async/abort.ts";
import { jsonLength } from "../json.ts";
import { type GradeContext, type Grader, type Score, toScore } from "../rewards/grader.ts";
import type { GraderPool } from "../rewards/worker/grader_pool.ts";
import { replyGradingOf } from "../rewards/reply_grader.ts";
import type { Task } from "../task.ts";
import type { gradeRequestSchema } from "../wire/v1_grade.ts";
import { ServerError, toPublicError } from "./http/http_errors.ts";
import { MAX_GRADED_CHARACTERS, SESSION_WAIT_MS } from "./limits.ts";

/** Graders by name, each made at its first use. */
export type Graders = ReadonlyMap<string, () => Grader>;

/** Conversation to grade and its task. */
export interface GradeInput {
  readonly task: Task;
  readonly history: History;
}

/** Returns the conversation and the task of a request. A completion without messages answers the task's query. */
export function toGradeInput(
  { task, messages, completion = "", answer, tests }: z.output<typeof gradeRequestSchema>,
): GradeInput {
  const reply = [{ role: "assistant", content: completion }];
  const question = task.query === "" ? [] : [{ role: "user", content: task.query }];
  return {
    task: {
      ...task,
      ...(answer !== undefined && { answer }),
      ...(tests !== undefined && { fields: { ...task.fields, tests } }),
    },
    history: History.fromChats(messages ?? [...question, ...reply]),
  };
}

/** Options of {@linkcode guardGrader}. */
export interface GuardGraderOptions {
  readonly pool: GraderPool;
  /** Client for whom the grades are. */
  readonly owner: string;
  /**
   * Milliseconds that a grade may wait in the pool and run.
   *
   * @default 30_000
   */
  readonly waitMs?: number | undefined;
}

/**
 * Returns a grader as it runs for a client: in the workers of the pool if it can, else on the serving thread. It
 * refuses replies and tasks that are too large, and fails with `timeout` if the pool does not grade in time.
 */
export function guardGrader(grader: Grader, options: GuardGraderOptions): Grader {
  const { pool, owner, waitMs = SESSION_WAIT_MS } = options;
  const guarded = pool.guardParts(grader, { owner });
  const isPooled = replyGradingOf(grader) !== undefined;
  return {
    name: grader.name,
    async grade(context) {
      requireBounded(context);
      if (!isPooled) return await guarded.grade({ ...context, owner });
      using deadline = new Deadline(waitMs, { signal: context.signal, reason: () => waitTimeout(waitMs) });
      return await guarded.grade({ ...context, signal: deadline.signal });
    },
  };
}

function waitTimeout(waitMs: number): ServerError {
  return new ServerError("timeout", `No grader was free within ${waitMs} ms: retry later`, { retryAfter: 1 });
}

function requireBounded({ history, task }: GradeContext): void {
  const replies = [...history].filter(({ role }) => role === "assistant");
  const longest = replies.reduce((most, reply) => Math.max(most, messageText(reply).length), 0);
  const { answer = "", fields = {} } = task;
  const taskCharacters = answer.length + jsonLength(fields, { most: MAX_GRADED_CHARACTERS });
  if (longest <= MAX_GRADED_CHARACTERS && taskCharacters <= MAX_GRADED_CHARACTERS) return;
  throw new ServerError(
    "too_large",
    `A graded reply and its task must have at most ${MAX_GRADED_CHARACTERS} characters each`,
  );
}

/** Grades an episode. Errors of the grader become a `ServerError` with the grader's message. */
export async function gradeOrThrow(grader: Grader, context: GradeContext): Promise<Score> {
  try {
    return toScore(await grader.grade(context));
  } catch (cause) {
    const ofServer = cause instanceof SandboxError || cause instanceof ServerError;
    if (ofServer || !(cause instanceof Error)) throw toPublicError(cause);
    throw new ServerError("invalid", `Cannot grade: ${cause.message}`, { cause });
  }
}
