import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import { SandboxError } from "../../errors.ts";
import { History } from "../../history.ts";
import { type GradeContext, type Grader, type Score, wholeScore } from "../../rewards/grader.ts";
import type { Gate } from "../gate.ts";
import { ServerError, sessionError } from "../server_error.ts";
import { type Api, failures, jsonAnswer, jsonBody } from "./route.ts";

/** The graders that the server offers, by name, each made when the first asks for it. */
export type Graders = ReadonlyMap<string, () => Grader>;

const message = z.strictObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.string(),
});

const request = z.strictObject({
  grader: z.string().max(64),
  task: z.strictObject({
    id: z.string().default("task"),
    query: z.string().default(""),
    answer: z.string().exactOptional(),
    reference: z.string().exactOptional(),
    fields: z.record(z.string(), z.unknown()).exactOptional(),
  }).describe("what it was about; fields hold what the grader needs, such as a program's tests"),
  messages: z.array(message).min(1).max(4096).describe("the whole conversation"),
}).meta({ id: "GradeRequest" });

const answer = z.object({
  score: z.number().nullable().describe("null when no score can be given, which is not 0"),
  parts: z.record(z.string(), z.number().nullable()).optional(),
}).meta({ id: "Score" });

const grade = createRoute({
  ...{ method: "post", path: "/v1/grade", tags: ["grade"], summary: "Score a conversation" },
  request: { body: jsonBody(request) },
  responses: { 200: jsonAnswer(answer, "The score"), ...failures },
});

const list = createRoute({
  ...{ method: "get", path: "/v1/graders", tags: ["grade"], summary: "List the graders" },
  responses: { 200: jsonAnswer(z.object({ graders: z.array(z.string()) }), "Their names"), ...failures },
});

/** Scores for conversations; as many at once as pass the gate. */
export function gradeRoutes(app: Api, graders: Graders, gate: Gate): void {
  app.openapi(list, (c) => c.json({ graders: [...graders.keys()] }, 200));
  app.openapi(grade, async (c) => {
    const { grader: name, task, messages } = c.req.valid("json");
    const make = graders.get(name);
    if (!make) throw new ServerError("invalid", `grader must be one of ${[...graders.keys()].join(", ")}`);
    const { place } = await gate.pass(() => Promise.resolve(), c.get("signal"));
    using _place = place;
    const history = History.fromChats(messages);
    const { score, parts } = await scored(make, { task, history, signal: c.get("signal") });
    return c.json({ score, ...(parts && { parts: { ...parts } }) }, 200);
  });
}

/** The score, or an error in the grader's own words. */
async function scored(make: () => Grader, context: GradeContext): Promise<Score> {
  try {
    return wholeScore(await make().grade(context));
  } catch (cause) {
    if (cause instanceof SandboxError || !(cause instanceof Error)) throw sessionError(cause);
    throw new ServerError("invalid", `Cannot grade: ${cause.message}`, { cause });
  }
}
