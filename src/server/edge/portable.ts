/**
 * Graders as a module of Web APIs, for Deno, Bun, Node, Cloudflare Workers and others. Its default export is the
 * server, and the graders are exported as functions:
 *
 * ```ts ignore
 * import { edgeApp, gsm8k, History } from "@paddock/paddock/edge";
 * export default edgeApp({ token: "at least sixteen characters" });
 * ```
 *
 * @module
 */
import * as z from "zod";
import { type GradeContext, unscored } from "../../rewards/grader.ts";
import { finalReplyOf } from "../../rewards/final_reply.ts";
import { jsonLength } from "../../json.ts";
import { PADDOCK_VERSION } from "../../version.ts";
import { createEdgeApp, type EdgeApp, type EdgeAppOptions } from "./app.ts";
import type { GradingRuntime } from "./grading.ts";

export { History } from "../../history.ts";
export type { Message } from "../../message.ts";
export type { Policy } from "../../policy/policy.ts";
export { countdown } from "../../rewards/countdown.ts";
export type { GradeContext, Grader, Score } from "../../rewards/grader.ts";
export { gsm8k, type Gsm8kOptions } from "../../rewards/gsm8k.ts";
export { ifeval, type IfevalOptions } from "../../rewards/ifeval.ts";
export { judge, type JudgeOptions } from "../../rewards/judge.ts";
export { math, type MathOptions } from "../../rewards/math.ts";
export { exactMatch, numberMatch, patternMatch, type PatternMatchOptions } from "../../rewards/text_match.ts";
export { rubric, type RubricItem, type RubricOptions } from "../../rewards/rubric.ts";
export type { Task } from "../../task.ts";
export type { EdgeApp, EdgeAppOptions as EdgeOptions };

/** Maximum number of characters of a reply, and of its task. A grade of as many takes less than a second. */
const MAX_CHARACTERS = 128 * 1024;

/** Runs graders where they are called, since not every runtime has threads. Nothing but their input is bounded. */
const RUNTIME: GradingRuntime = {
  sandboxed: [],
  refusals: {
    hidden_tests:
      "grader hidden_tests runs Python, which this server cannot: use the edge server of Deno or 'paddock serve'",
  },
  guard: ({ name, grade }) => ({
    name,
    grade: async (context) => isTooLong(context) ? unscored(TOO_LONG) : await grade(context),
  }),
  makeSandboxed: (name) =>
    Promise.reject(new TypeError(`Cannot make grader '${name}' as it needs workers of Deno`)),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};
const TOO_LONG = `too large: the reply and its task must have at most ${MAX_CHARACTERS} characters each`;

function isTooLong({ history, task: { answer = "", fields = {} } }: GradeContext): boolean {
  const taskLength = answer.length + jsonLength(fields, { most: MAX_CHARACTERS });
  return finalReplyOf(history).length > MAX_CHARACTERS || taskLength > MAX_CHARACTERS;
}

/**
 * Creates a server that scores conversations by graders that need no Python. They run on the serving thread, with at
 * most 131,072 characters of a reply and of a task; the time of a custom grader is not bounded.
 *
 * @throws {RangeError} if the token is shorter than 16 characters.
 */
export function edgeApp(options: EdgeAppOptions = {}): EdgeApp {
  return createEdgeApp(options, RUNTIME);
}

z.config({ jitless: true }); // some runtimes compile no code from text, and no server here is warm for long

let app: EdgeApp | undefined;

/** Returns the binding `PADDOCK_TOKEN` of a runtime that passes its bindings to `fetch`, as Cloudflare does. */
function boundToken(platform: unknown): { token?: string } {
  const { PADDOCK_TOKEN: token } = Object(platform) as { readonly PADDOCK_TOKEN?: unknown };
  return typeof token === "string" ? { token } : {};
}

/** The server, with the token of the binding `PADDOCK_TOKEN`. */
const server: Pick<EdgeApp, "version" | "fetch"> = {
  version: PADDOCK_VERSION,
  fetch(request, platform) {
    app ??= edgeApp(boundToken(platform));
    return app.fetch(request, platform);
  },
};
export default server;
