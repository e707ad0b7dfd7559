import type { JsonSchema } from "../tools/tool.ts";
import type { PythonSession } from "../sandbox/contract/pool.ts";
import type { Draw } from "./draw.ts";

/** Result of checking an answer. A `malformed` answer does not have the form that the query asks for. */
export type Verdict = "right" | "wrong" | "malformed";

/** A generator of problems with an exact checker. */
export interface Family {
  /** A line for a help text. */
  readonly about: string;
  /**
   * Version of the generator. A change of the generator that changes problems needs a new version, since a task names
   * its problem by version, difficulty and seed.
   */
  readonly version: number;
  /** How answers are checked: `reply` without running anything, `program` in a sandbox, `tools` by the tools' state. */
  readonly kind: Problem["kind"];
  /** Shipped profile whose sessions the check or the tools need, if any. */
  readonly profile?: "python" | "workspace";
  /** Tools of problems of the kind `tools`. */
  readonly tools?: readonly ProblemTool[];
  /** Generates a problem. The same seed and difficulty give the same problem in each process. */
  generate(draw: Draw, difficulty: number): Problem;
}

/** A problem of a family. */
export type Problem = ReplyProblem | ProgramProblem | ToolProblem;

/** Parts that problems of all kinds have. */
export interface ProblemBase {
  /** The task for the model, without the form of the reply. */
  readonly query: string;
}

/** Parts of problems whose answer is a text. */
export interface TextProblem extends ProblemBase {
  /** An answer that is right. */
  readonly solution: string;
  /** Texts of the query that a model could copy as an answer. */
  readonly copies: readonly string[];
  /** Returns a random answer in the right form. The mean score of such answers is the chance level. */
  guess(draw: Draw): string;
}

/** A problem whose answer is checked without running anything. */
export interface ReplyProblem extends TextProblem {
  readonly kind: "reply";
  check(answer: string): Verdict;
}

/** A problem whose answer is code, which runs in a sandbox. Nothing of the expected result enters the sandbox. */
export interface ProgramProblem extends TextProblem {
  readonly kind: "program";
  /** Checks an answer in a session that no other program has used. */
  check(
    answer: string,
    session: PythonSession,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<Verdict>;
}

/** A call of a tool of a problem. */
export interface ProblemCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** A tool of a problem. */
export interface ProblemTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

/** A problem that is solved by calls of tools. */
export interface ToolProblem extends ProblemBase {
  readonly kind: "tools";
  /** Calls that solve the problem. */
  readonly solution: readonly ProblemCall[];
  /** Returns random calls that the tools accept. */
  guess(draw: Draw): ProblemCall[];
  /**
   * Starts an episode.
   *
   * @param session A session that no other program has used, if the family has a `profile`.
   */
  open(session?: PythonSession): Promise<ToolEpisode>;
}

/** The state of the tools of an episode. The state stays on the host, but for files that the model may read. */
export interface ToolEpisode {
  /**
   * Calls a tool and returns the text for the model.
   *
   * @throws {ToolError} for an error that the model can correct.
   */
  call(name: string, args: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<string>;
  /** Returns whether the problem is solved. */
  check(signal?: AbortSignal): Promise<Verdict>;
  /** Returns a copy of the episode; undefined if the episode cannot be copied. */
  copy(): ToolEpisode | undefined;
}
