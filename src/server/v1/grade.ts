import { createRoute } from "@hono/zod-openapi";
import { replyGradingOf } from "../../rewards/reply_grader.ts";
import type { GraderPool } from "../../rewards/worker/grader_pool.ts";
import { gradeRequestSchema, graderListSchema, scoreSchema } from "../../wire/v1_grade.ts";
import type { AdmissionQueue } from "../admission/admission_queue.ts";
import { gradeOrThrow, type Graders, guardGrader, toGradeInput } from "../graders.ts";
import { ServerError } from "../http/http_errors.ts";
import { GRADE, SCORE } from "./examples.ts";
import { type Api, failures, jsonBody, jsonResponse, keepTaskNumbers } from "./route.ts";

const grade = createRoute({
  operationId: "grade",
  method: "post",
  path: "/v1/grade",
  middleware: keepTaskNumbers,
  tags: ["grade"],
  summary: "Score a conversation",
  request: { body: jsonBody(gradeRequestSchema, GRADE) },
  responses: { 200: jsonResponse(scoreSchema, "The score", { example: SCORE }), ...failures("timeout") },
});

const list = createRoute({
  operationId: "listGraders",
  method: "get",
  path: "/v1/graders",
  tags: ["grade"],
  summary: "List the graders",
  responses: {
    200: jsonResponse(graderListSchema, "Names of the graders", { example: { graders: ["gsm8k"] } }),
  },
});

/** Parts of the routes of graders. */
export interface GradeResources {
  readonly graders: Graders;
  readonly pool: GraderPool;
  /** Bounds concurrent grades that do not run in `pool`. */
  readonly gate: AdmissionQueue;
}

/** Adds the routes of graders. */
export function addGradeRoutes(app: Api, { graders, pool, gate }: GradeResources): void {
  app.openapi(list, (c) => c.json({ graders: [...graders.keys()] }, 200));
  app.openapi(grade, async (c) => {
    const request = c.req.valid("json");
    const name = request.grader;
    const make = graders.get(name);
    if (!make) throw new ServerError("invalid", `grader must be one of ${[...graders.keys()].join(", ")}`);
    const [grader, owner, signal] = [make(), c.get("owner"), c.get("signal")];
    using _slot = replyGradingOf(grader) ? undefined : await gate.acquire({ owner, signal });
    const context = { ...toGradeInput(request), signal };
    const { score, parts, reason } = await gradeOrThrow(guardGrader(grader, { pool, owner }), context);
    return c.json(
      { score, ...(reason !== undefined && { reason }), ...(parts && { parts: { ...parts } }) },
      200,
    );
  });
}
