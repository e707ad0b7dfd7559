import { requireKnownOptions } from "../../options.ts";
import * as z from "zod";
import { errorMessage, GraderError } from "../../errors.ts";
import { messageText } from "../../message.ts";
import { finalReplyOf } from "../../rewards/final_reply.ts";
import type { GradeContext, Grader, Score } from "../../rewards/grader.ts";
import { plainMessages, plainTask } from "../plugin_host.ts";
import type { PluginTask } from "../definitions.ts";
import { PYTHON_FILE_OPTIONS, PythonFile, type PythonFileOptions } from "./python_file.ts";

/** Options of {@linkcode pythonGrader}. */
export interface PythonGraderOptions extends PythonFileOptions {
  /**
   * Name of the grader.
   * @default the file name without its extension
   */
  name?: string | undefined;
}

export const scoreSchema = z.strictObject({
  score: z.number().nullable(),
  parts: z.record(z.string(), z.number().nullable()).optional(),
  reason: z.string().optional(),
});

/**
 * Runs the grader of a Python file in a sandbox. The file defines `grade`, whose parameters are chosen by their names:
 *
 * - `completion`: the text of the last reply; `messages`: the whole conversation; `query`: the text of the query
 * - `code_calls`: the calls of tools that the code of the episode made, each a dict as in the row of the episode
 * - `answer`: the task's answer; `task`: the task as a dict; `fields`: the other columns; or the name of a column
 *
 * `grade` returns a number, `None` if there is no score, or a dict with `score`, whose other values are the parts of the
 * reward by name, and an optional `reason`.
 *
 * The file is loaded once. Each grade starts from the state after the load, so that no grade sees traces of another
 * grade in globals, modules, files or random numbers. An exception, a wrong result and a reached limit are a
 * `GraderError` with the line of the file: the episode has no score.
 *
 * A profile with `preload: PYTHON_FILE_PRELOAD` halves the time of a load, for an image that is built once.
 *
 * @example
 * ```ts
 * import { type Grader, loadProfile, SandboxPool } from "@paddock/paddock";
 * import { pythonGrader } from "@paddock/paddock/rewards";
 *
 * async function openGrader(stack: AsyncDisposableStack): Promise<Grader> {
 *   const pool = stack.use(new SandboxPool({ profile: await loadProfile("python"), size: 2, resetMode: "rewind" }));
 *   return await pythonGrader("./grader.py", { pool });
 * }
 * ```
 *
 * @throws {SandboxError} if the file cannot be loaded, or defines no such function.
 */
export async function pythonGrader(path: string, options: PythonGraderOptions): Promise<Grader> {
  requireKnownOptions("call pythonGrader", options, { ...PYTHON_FILE_OPTIONS, name: true });
  const file = await PythonFile.open(path, { ...options, kind: { noun: "grader", contract: "grader" } });
  return {
    name: options.name ?? file.moduleName,
    grade: (context) => gradeWith(file, "grade", context),
  };
}

/**
 * Grades an episode with a function of a file.
 *
 * @throws {GraderError} if the function gives no valid result.
 */
export async function gradeWith(
  file: Pick<PythonFile, "path" | "call">,
  name: string,
  context: GradeContext,
): Promise<Score> {
  const { task, history, codeCalls = [], signal } = context;
  const plain = plainTask(task);
  const { query, answer, fields = {} } = plain;
  const values = {
    completion: finalReplyOf(history),
    answer: answer ?? null,
    task: plain,
    messages: plainMessages(history),
    query: queryText(query),
    fields,
    code_calls: codeCalls,
  };
  try {
    const score = await file.call({ do: "grade", function: name, values }, { schema: scoreSchema, signal });
    return score as Score; // with `exactOptionalPropertyTypes`, zod's optional keys differ
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new GraderError(`Cannot call '${name}' of '${file.path}': ${errorMessage(cause)}`, { cause });
  }
}

/** Returns the text of a query: the text of all messages, if the query is a conversation. */
export function queryText(query: PluginTask["query"]): string {
  return typeof query === "string" ? query : query.map(messageText).join("\n\n");
}
