import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import { mapConcurrently } from "../../rollout/map_concurrently.ts";
import { sessionError } from "../server_error.ts";
import type { SessionService } from "../session_service.ts";
import { type Api, failures, jsonAnswer, jsonBody } from "./route.ts";
import { execAnswer, execOptions, execRequest, execResult, failure } from "./schemas.ts";

const MAX_ITEMS = 4096;

const item = execRequest.extend({
  session: z.string().max(64).optional().describe("a session's id; an interpreter of its own unless given"),
}).meta({ id: "BatchItem" });

const outcome = z.object({
  status: z.int().describe("the HTTP status that the item would have had alone"),
  result: execResult.optional(),
  error: failure.shape.error.optional(),
}).meta({ id: "BatchOutcome" });

const batch = createRoute({
  method: "post",
  path: "/v1/exec:batch",
  tags: ["sessions"],
  summary: "Run many programs, in many sessions or in none",
  request: { body: jsonBody(z.strictObject({ items: z.array(item).max(MAX_ITEMS) })) },
  responses: {
    200: jsonAnswer(z.object({ results: z.array(outcome) }), "One for each item, in their order"),
    ...failures,
  },
});

type Item = z.output<typeof item>;
type Outcome = z.output<typeof outcome>;

/** What all programs of a batch share. */
interface BatchRun {
  readonly sessions: SessionService;
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** Many programs in one request. Those of one session run one after the other, as they stand in the batch. */
export function batchRoutes(app: Api, sessions: SessionService): void {
  app.openapi(batch, async (c) => {
    const { items } = c.req.valid("json");
    const run = { sessions, owner: c.get("owner"), signal: c.get("signal") };
    return c.json({ results: await runAll(items, run) }, 200);
  });
}

async function runAll(items: readonly Item[], run: BatchRun): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const lanes = Map.groupBy(items.entries(), ([at, { session }]) => session ?? at).values();
  const runLane = async (lane: readonly [number, Item][], signal: AbortSignal) => {
    for (const [at, item] of lane) outcomes[at] = await runItem(item, { ...run, signal });
  };
  const options = { concurrency: run.sessions.maxSessions, signal: run.signal };
  for await (const _ of mapConcurrently(lanes, runLane, options));
  return outcomes;
}

async function runItem(item: Item, { sessions, owner, signal }: BatchRun): Promise<Outcome> {
  try {
    if (item.session !== undefined) {
      const result = await sessions.find(item.session, owner).exec(item.code, execOptions(item, signal));
      return { status: 200, result: execAnswer(result) };
    }
    await using session = await sessions.borrow({ owner, signal });
    return { status: 200, result: execAnswer(await session.exec(item.code, execOptions(item, signal))) };
  } catch (error) {
    const { status, fault, message } = sessionError(error);
    return { status, error: { type: fault, message } };
  }
}
