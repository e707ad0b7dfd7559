import { ToolError } from "../../errors.ts";
import type { AnswerSubCall } from "../../envs/rlm/recursive_env.ts";
import { messageText } from "../../message.ts";
import { replyOfQuestion } from "../../rollout/rollout_recursive.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import { UsageError } from "../cli_errors.ts";
import { RLM_ENV } from "../rollout/envs.ts";

/** An episode of a file. */
export interface ReplayedRow {
  readonly trajectory: Trajectory;
  /** Position in the file, from 1. */
  readonly row: number;
  /** Answers the questions of its code from their rows, if its code asks. */
  readonly answer?: AnswerSubCall;
}

/** True if a row is a question that code of another episode has asked. */
export function isQuestion({ parent }: Trajectory): boolean {
  return parent?.call !== undefined;
}

/**
 * Yields the episodes of a file, and the rows of questions. An episode whose code asks is yielded when the rows of its
 * questions were read, which follow after its own.
 *
 * @throws {UsageError} if the row of a question is missing.
 */
export async function* replayedRows(trajectories: AsyncIterable<Trajectory>): AsyncGenerator<ReplayedRow> {
  const waiting = new Map<string, WaitingEpisode>();
  let row = 0;
  for await (const trajectory of trajectories) {
    const read = { trajectory, row: ++row };
    const { id, parent, versions: { env } } = trajectory;
    if (isQuestion(trajectory)) {
      yield read;
      waiting.get(parent?.id ?? "")?.questions.push(trajectory);
    } else if (env === RLM_ENV && id !== undefined) waiting.set(id, { ...read, questions: [] });
    else yield read;
    const complete = waiting.get(parent?.id ?? id ?? "");
    if (complete === undefined || complete.questions.length < (askedBy(complete) ?? Infinity)) continue;
    waiting.delete(parent?.id ?? id ?? "");
    yield withAnswers(complete);
  }
  for (const episode of waiting.values()) {
    const { trajectory: { task }, questions } = episode;
    const asked = askedBy(episode) ?? 0;
    if (questions.length < asked) {
      throw new UsageError(
        `Cannot replay the episode of task '${task.id}' as its code asked ${asked} questions: the file has the rows of ${questions.length}`,
      );
    }
    yield withAnswers(episode);
  }
}

interface WaitingEpisode extends ReplayedRow {
  readonly questions: Trajectory[];
}

/** Returns the number of questions of an episode, if it has reached its end. */
function askedBy({ trajectory: { info = {} } }: ReplayedRow): number | undefined {
  return typeof info.sub_calls === "number" ? info.sub_calls : undefined;
}

function withAnswers({ questions, ...read }: WaitingEpisode): ReplayedRow {
  const left = [...questions];
  const answer: AnswerSubCall = async ({ prompt, turn, number }) => {
    const asks = (question: Trajectory) =>
      question.parent?.turn === turn && messageText(question.messages[0] ?? NO_MESSAGE) === prompt;
    // Threads may ask in another order than before.
    const same = left.findIndex((question) => question.parent?.call === number && asks(question));
    const at = same === -1 ? left.findIndex(asks) : same;
    const [question] = at === -1 ? [] : left.splice(at, 1);
    if (question === undefined) throw new ToolError("the file has no such question of this turn");
    return await Promise.resolve(replyOfQuestion(question));
  };
  return { ...read, answer };
}

const NO_MESSAGE = { role: "user", content: "" };
