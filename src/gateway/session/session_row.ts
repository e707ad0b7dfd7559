import type { EpisodeFailure } from "../../errors.ts";
import type { History } from "../../history.ts";
import type { Reply } from "../../policy/policy.ts";
import type { InteractionResult } from "../../rollout/interaction.ts";
import { toInteractionResult } from "../../rollout/interaction_result.ts";
import {
  type BranchOrigin,
  emptyTrajectory,
  toTurnRecord,
  type Trajectory,
  type TurnRecord,
} from "../../rollout/trajectory.ts";
import type { Task } from "../../task.ts";
import type { ModelAnswer } from "../model_request.ts";
import type { PromptWriter } from "./prompt_writer.ts";

/** A turn of a session that the model server sampled. */
export interface SampledTurn {
  readonly row: SessionRow;
  /** Number of the turn in the row, from 1. Turns that a branch shares with its parent are counted. */
  readonly number: number;
  readonly reply: Reply;
  readonly answer: ModelAnswer;
  /** Key of the message as it was delivered. */
  readonly key: string;
}

/** A message of an agent that differs from the session's record. */
export interface ChangeNote {
  /**
   * `rewritten`: the agent sent another text in place of the turn. `cut`: the agent sent the beginning of the
   * turn's text, after a delivery that was cut. `dropped`: the agent left the turn out. `kept`: the agent
   * sent another text, and the record has the sampled text.
   */
  readonly kind: "rewritten" | "cut" | "dropped" | "kept";
  /** Index of the message in the chat. */
  readonly index: number;
  /** Row and turn that the agent changed or left out. */
  readonly row: string;
  readonly turn: number;
}

/** A prompt that was written for a request, and has no reply yet. */
export interface PromptDraft {
  readonly writer: PromptWriter;
  /** Messages of the prompt as they are recorded. */
  readonly history: History;
  /** Turn that the request extends, if any. */
  readonly base: SampledTurn | undefined;
  /** Number of turns that the prompt shares with the parent's row. */
  readonly shared: number;
  readonly parent: BranchOrigin | undefined;
  readonly changes: readonly ChangeNote[];
}

/** Times and versions of a turn. */
export interface TurnFacts {
  readonly policyMs: number;
  readonly policyVersion: number | string | undefined;
  /**
   * What constrained the decoding of the reply: log-probabilities may be from before the constraint.
   *
   * @default nothing
   */
  readonly constraint?: "tool_choice" | "schema" | undefined;
}

/** How a session ended. */
export interface SessionEnd {
  /** Reward of the session; `null` if the session was not scored. */
  readonly reward: number | null;
  readonly rewardParts?: Readonly<Record<string, number | null>> | undefined;
  /** Why there is no score. */
  readonly unscored?: string | undefined;
  /** Failure that ended the session. The session's rows are then aborted. */
  readonly error?: EpisodeFailure | undefined;
  /** False for a session that was deleted before being finished. */
  readonly isComplete: boolean;
  /**
   * True if the session's sandbox ended before the session, so that what the agent left in the sandbox is
   * unknown.
   */
  readonly hasLostSandbox?: boolean | undefined;
}

/** Returns the end of a session that was not finished. */
export function abortedEnd(message: string): SessionEnd {
  return { reward: null, isComplete: false, error: { boundary: "env", name: "EnvError", message } };
}

/** Returns the end of a session with a sandbox that did not outlive the server. */
export function lostSandboxEnd(): SessionEnd {
  const message = "sandbox lost: the server ended while the agent used it";
  return {
    reward: null,
    isComplete: false,
    hasLostSandbox: true,
    error: { boundary: "sandbox", name: "SandboxError", message },
  };
}

/** Why the rows of an evaluation have no tokens. */
const NO_IDS = "the model server returns no token ids";

/** What the rows of a session have in common. */
export interface RowContext {
  readonly session: string;
  readonly task: Task;
  readonly sample: number;
  readonly policy: string | undefined;
  /** True if the model server returns no token ids, so that the rows have none. */
  readonly isEvaluation: boolean;
}

/**
 * A row of a session for a trainer: turns that continue each other, with their exact tokens. The first
 * prompt of a branch has the tokens of the turns that the branch shares with its parent, so that each sampled
 * token has mask 1 in a single row only.
 */
export class SessionRow {
  readonly id: string;
  readonly parent: BranchOrigin | undefined;
  /** Last turn of the row. */
  tip!: SampledTurn;
  #writer: PromptWriter;
  #history: History;
  readonly #shared: number;
  readonly #steps: TurnRecord[] = [];
  readonly #changes: ChangeNote[] = [];
  readonly #constrained: { readonly turn: number; readonly by: string }[] = [];
  /** First prompt, and the prompt's numbers of tokens and messages. */
  readonly #first: { readonly text: string; readonly tokens: number; readonly messages: number };

  constructor(id: string, draft: PromptDraft) {
    const { writer, history, parent, shared } = draft;
    this.id = id;
    this.parent = parent;
    this.#writer = writer;
    this.#history = history;
    this.#shared = shared;
    const { text, ids } = writer.prompt;
    this.#first = { text, tokens: ids.length, messages: history.length };
  }

  /** Chat of the row, with the last reply. */
  get history(): History {
    return this.#history;
  }

  /** Returns a writer that continues after the last reply. The row keeps its own writer. */
  copyWriter(): PromptWriter {
    return this.#writer.copy();
  }

  /** Number of messages in the chat. */
  get length(): number {
    return this.#history.length;
  }

  /**
   * Adds a reply to the prompt of a draft, and returns the turn.
   *
   * @throws {TokenError} if the reply's ids do not match the reply's text, or the server had another prompt.
   * The row is unchanged.
   */
  add(
    { writer, history, changes }: PromptDraft,
    { reply, answer, key, facts }: { reply: Reply; answer: ModelAnswer; key: string; facts: TurnFacts },
  ): SampledTurn {
    const sampledIds = writer.reply(reply);
    const number = this.#shared + this.#steps.length + 1;
    const { constraint: by, ...times } = facts;
    if (by !== undefined) this.#constrained.push({ turn: number, by });
    const record = toTurnRecord({ turn: number, promptTokens: undefined, ...times }, reply);
    this.#steps.push({ ...record, ...(sampledIds && { tokens: toStepTokens(sampledIds) }) });
    this.#writer = writer;
    this.#history = history.append(reply.message);
    this.#changes.push(...changes.filter((change) => !this.#changes.some((known) => isSame(known, change))));
    const { promptIds: _prompt, ...sampled } = reply; // the writer has these ids
    this.tip = { row: this, number, reply: sampled, answer, key };
    return this.tip;
  }

  /** Returns the row for a trainer. */
  toResult(context: RowContext, end: SessionEnd): InteractionResult {
    return toInteractionResult(this.#trajectory(context, end));
  }

  #trajectory({ session, task, sample, policy, isEvaluation }: RowContext, end: SessionEnd): Trajectory {
    const tokens = this.#writer.tokens();
    const { text, tokens: promptLength, messages: promptMessages } = this.#first;
    const { reward, rewardParts, unscored, error, isComplete, hasLostSandbox } = end;
    const isOver = isComplete && error === undefined;
    const isCut = this.tip.reply.message.is_complete === false;
    const policyMs = this.#steps.reduce((sum, step) => sum + step.policyMs, 0);
    const empty = emptyTrajectory(task, { id: this.id, parent: this.parent, sample, policy });
    const weights = this.tip.reply.weightVersion;
    return {
      ...empty,
      versions: { ...empty.versions, ...(weights !== undefined && { weights }) },
      messages: this.#history.toChats(),
      reward: isOver ? reward : null,
      ...(rewardParts && { rewardParts }),
      ...(unscored !== undefined && { unscored }),
      info: {
        session,
        ...(this.#changes.length > 0 && { changes: this.#changes }),
        ...(hasLostSandbox && { sandbox_lost: true }),
        ...(this.#constrained.length > 0 && { constrained: this.#constrained }),
        ...(isEvaluation && { not_for_training: NO_IDS }),
      },
      turns: this.#steps.length,
      terminated: isOver && !isCut,
      truncated: isOver && isCut,
      ...(isOver && isCut && { cut: "length" as const }),
      ...(error && { error }),
      tokens: { ...tokens, promptText: text, promptLength, promptMessages },
      steps: this.#steps,
      times: { totalMs: policyMs, policyMs, envMs: 0 },
    };
  }
}

function toStepTokens({ ids, start, logProbs }: NonNullable<ReturnType<PromptWriter["reply"]>>) {
  return { ids, start, ...(logProbs && { logProbs }) };
}

function isSame(one: ChangeNote, other: ChangeNote): boolean {
  return one.index === other.index && one.row === other.row && one.turn === other.turn;
}
