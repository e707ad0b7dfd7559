import { createRoute } from "@hono/zod-openapi";
import * as z from "zod";
import { FAMILY_NAMES, FAMILY_PREFIX } from "../../families/names.ts";
import { FAMILIES } from "../../families/registry.ts";
import { familyTasks } from "../../families/tasks.ts";
import { familyListSchema, familyTasksQuerySchema, familyTasksSchema } from "../../wire/v1_envs.ts";
import { FAMILY, FAMILY_TASK } from "./examples.ts";
import { type Api, failures, jsonResponse } from "./route.ts";

const tags = ["envs"];

/** Lets other requests run, as a hard task takes many milliseconds. */
async function pause(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
  signal.throwIfAborted();
}

const list = createRoute({
  operationId: "listFamilies",
  method: "get",
  path: "/v1/families",
  tags,
  summary: "List the families of procedural tasks",
  responses: { 200: jsonResponse(familyListSchema, "The families", { example: { families: [FAMILY] } }) },
});

const tasks = createRoute({
  operationId: "listFamilyTasks",
  method: "get",
  path: "/v1/families/{family}/tasks",
  tags,
  summary: "Get tasks of a family",
  description:
    "The fields of a task name the problem. A reset, a rollout and the grader 'family' take the task.",
  request: {
    params: z.object({ family: z.enum(FAMILY_NAMES).meta({ example: "graph-paths" }) }),
    query: familyTasksQuerySchema,
  },
  responses: {
    200: jsonResponse(familyTasksSchema, "The tasks", { example: { tasks: [FAMILY_TASK] } }),
    ...failures("not_found"),
  },
});

/** Adds the routes of families. */
export function addFamilyRoutes(app: Api): void {
  app.openapi(list, (c) => {
    const families = FAMILY_NAMES.map((name) => {
      const { about, kind, version } = FAMILIES[name];
      return { env: `${FAMILY_PREFIX}${name}` as const, about, kind, version };
    });
    return c.json({ families }, 200);
  });
  app.openapi(tasks, async (c) => {
    const bodies: z.output<typeof familyTasksSchema>["tasks"] = [];
    for (const { id, query, fields } of familyTasks(c.req.valid("param").family, c.req.valid("query"))) {
      bodies.push({ id, query: String(query), fields: { ...fields } });
      await pause(c.get("signal"));
    }
    return c.json({ tasks: bodies }, 200);
  });
}
