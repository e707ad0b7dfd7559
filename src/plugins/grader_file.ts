import { requireKnownOptions } from "../options.ts";
import * as z from "zod";
import { GraderError } from "../errors.ts";
import { finalReplyOf } from "../rewards/final_reply.ts";
import type { GradeContext, Grader, Score } from "../rewards/grader.ts";
import type { GraderInput } from "./definitions.ts";
import {
  plainMessages,
  plainTask,
  PLUGIN_FILE_OPTIONS,
  type PluginFileOptions,
  PluginHost,
  type PluginKind,
} from "./plugin_host.ts";

/** A grader that runs in a separate process. Disposing the grader ends the process. */
export type GraderFile = Grader & AsyncDisposable;

const GRADER: PluginKind = {
  noun: "grader",
  helper: "defineGrader",
  hooks: ["grade"],
  needsResult: true,
  maxResultBytes: 1024 * 1024,
  defaultTimeoutMs: 60_000,
  toError: (message, { cause }) => new GraderError(message, { cause }),
};
const MAX_PARTS = 100;
const MAX_REASON = 1_000;

/** Schema of the result of a grader. */
export const scoreSchema = z.union([
  z.number(),
  z.null(),
  z.strictObject({
    score: z.number().nullable(),
    parts: z.record(z.string().max(200), z.number().nullable())
      .refine((parts) => Object.keys(parts).length <= MAX_PARTS).optional(),
    reason: z.string().max(MAX_REASON).optional(),
  }),
]);
const NEEDS = `a number, null, or { score, parts?, reason? } with at most ${MAX_PARTS} parts`;

/**
 * Runs a grader of a TypeScript file in its own Deno process, with only the permissions that are granted. The file's
 * default export is a definition of `defineGrader`.
 *
 * The process has the permissions and the end of a `toolFile`. Results are checked: a wrong result, a call that takes more
 * than `timeoutMs` (60 seconds by default), and an ended process are a `GraderError` that names the file. The next call
 * starts a new process. A file that blocks is killed, and the file's other calls then fail as well.
 *
 * @example
 * ```ts
 * import { gradeTrajectory, type Trajectory } from "@paddock/paddock";
 * import { graderFile } from "@paddock/paddock/rewards";
 *
 * async function regrade(trajectory: Trajectory) {
 *   await using grader = await graderFile("./my_grader.ts", { permissions: { read: ["/srv/words.txt"] } });
 *   return await gradeTrajectory(trajectory, grader);
 * }
 * ```
 *
 * @throws {TypeError} when a permission cannot be granted.
 * @throws {RangeError} when `timeoutMs` is out of range.
 * @throws {SandboxError} when the file does not start or the default export is no grader.
 */
export async function graderFile(file: string | URL, options: PluginFileOptions = {}): Promise<GraderFile> {
  requireKnownOptions("call graderFile", options, PLUGIN_FILE_OPTIONS);
  const host = await PluginHost.open(file, { ...options, kind: GRADER });
  return {
    name: host.name,
    async grade({ task, history, codeCalls, signal }: GradeContext): Promise<Score | number | null> {
      const { answer } = task;
      const input: GraderInput = {
        completion: finalReplyOf(history),
        ...(answer !== undefined && { answer }),
        task: plainTask(task),
        messages: plainMessages(history),
        ...(codeCalls && { codeCalls }),
      };
      return toScoreResult(await host.call("grade", input, { schema: scoreSchema, needs: NEEDS, signal }));
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

/** Returns a checked result of a grader. With `exactOptionalPropertyTypes`, zod's optional keys have another type. */
export function toScoreResult(score: z.output<typeof scoreSchema>): Score | number | null {
  return score as Score | number | null;
}
