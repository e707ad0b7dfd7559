import { createRoute } from "@hono/zod-openapi";
import { History } from "../../history.ts";
import type { Grader } from "../../rewards/grader.ts";
import { gradeRequestSchema, graderListSchema, scoreSchema } from "../../wire/v1.ts";
import type { AdmissionQueue } from "../sessions/admission.ts";
import { gradeOrThrow } from "../graders.ts";
import { ServerError } from "../http/errors.ts";
import { type Api, failures, jsonBody, jsonResponse } from "./route.ts";

/** Graders by name, each made at its first use. */
export type Graders = ReadonlyMap<string, () => Grader>;

const grade = createRoute({
  method: "post",
  path: "/v1/grade",
  tags: ["grade"],
  summary: "Score a conversation",
  request: { body: jsonBody(gradeRequestSchema) },
  responses: { 200: jsonResponse(scoreSchema, "The score"), ...failures },
});

const list = createRoute({
  method: "get",
  path: "/v1/graders",
  tags: ["grade"],
  summary: "List the graders",
  responses: { 200: jsonResponse(graderListSchema, "Names of the graders"), ...failures },
});

/** Adds the routes of graders. `gate` bounds concurrent grades. */
export function addGradeRoutes(app: Api, graders: Graders, gate: AdmissionQueue): void {
  app.openapi(list, (c) => c.json({ graders: [...graders.keys()] }, 200));
  app.openapi(grade, async (c) => {
    const { grader: name, task, messages } = c.req.valid("json");
    const make = graders.get(name);
    if (!make) throw new ServerError("invalid", `grader must be one of ${[...graders.keys()].join(", ")}`);
    const { slot } = await gate.run(() => Promise.resolve(), {
      owner: c.get("owner"),
      signal: c.get("signal"),
    });
    using _slot = slot;
    const history = History.fromChats(messages);
    const { score, parts, reason } = await gradeOrThrow(make, { task, history, signal: c.get("signal") });
    return c.json(
      { score, ...(reason !== undefined && { reason }), ...(parts && { parts: { ...parts } }) },
      200,
    );
  });
}
