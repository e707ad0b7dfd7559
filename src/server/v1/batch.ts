import { createRoute } from "@hono/zod-openapi";
import type { z } from "zod";
import { mapSequentialByKey } from "../../async/map_concurrently.ts";
import type { ExecResult } from "../../sandbox/exec.ts";
import { MAX_BATCH_CHARACTERS } from "../../wire/limits.ts";
import { type batchOutcome, batchRequest, batchResponse, type execResult } from "../../wire/v1.ts";
import { ServerError, sessionError, toErrorBody } from "../server_error.ts";
import type { SessionService } from "../session_service.ts";
import { type Api, failures, jsonAnswer, jsonBody } from "./route.ts";
import { toExecBody, toExecOptions } from "./session_bodies.ts";

const TOO_LARGE = `Programs of a batch may print ${MAX_BATCH_CHARACTERS} characters in all`;

const batch = createRoute({
  method: "post",
  path: "/v1/exec:batch",
  tags: ["sessions"],
  summary: "Run many programs, in many sessions or in none",
  request: { body: jsonBody(batchRequest) },
  responses: {
    200: jsonAnswer(batchResponse, "One for each item, in their order"),
    ...failures,
  },
});

type Item = z.output<typeof batchRequest>["items"][number];
type Outcome = z.output<typeof batchOutcome>;

/** Many programs in one request. Those of one session run one after the other, as they stand in the batch. */
export function batchRoutes(app: Api, sessions: SessionService): void {
  app.openapi(batch, async (c) => {
    const run = new BatchRun(sessions, c.get("owner"));
    return c.json({ results: await run.all(c.req.valid("json").items, c.get("signal")) }, 200);
  });
}

/** The programs of one batch, and what they have used up together. */
class BatchRun {
  readonly #sessions: SessionService;
  readonly #owner: string;
  #characters = 0;
  /** Set when no session was free for too long: the rest would wait as long, one after the other. */
  #full: Outcome | undefined;

  constructor(sessions: SessionService, owner: string) {
    this.#sessions = sessions;
    this.#owner = owner;
  }

  /** Runs all, and gives their outcomes in their order. */
  async all(items: readonly Item[], signal: AbortSignal): Promise<Outcome[]> {
    return await mapSequentialByKey(items, (item, signal) => this.#outcome(item, signal), {
      keyOf: ({ session }) => session,
      concurrency: this.#sessions.maxSessions,
      signal,
    });
  }

  async #outcome(item: Item, signal: AbortSignal): Promise<Outcome> {
    if (this.#characters > MAX_BATCH_CHARACTERS) return failed(new ServerError("too_large", TOO_LARGE));
    if (item.session === undefined && this.#full) return this.#full;
    try {
      const result = toExecBody(await this.#run(item, signal));
      this.#characters += outputOf(result);
      return { status: 200, result };
    } catch (thrown) {
      const error = sessionError(thrown);
      if (error.code === "timeout") this.#full = failed(error);
      return failed(error);
    }
  }

  async #run(item: Item, signal: AbortSignal): Promise<ExecResult> {
    const options = toExecOptions(item, signal);
    const owner = this.#owner;
    if (item.session !== undefined) {
      return await this.#sessions.find(item.session, owner).exec(item.code, options);
    }
    await using session = await this.#sessions.borrow({ owner, signal });
    return await session.exec(item.code, options);
  }
}

function outputOf({ stdout, stderr, value = "", files = {} }: z.output<typeof execResult>): number {
  const fileCharacters = Object.values(files).reduce((sum, file) => sum + file.length, 0);
  return stdout.length + stderr.length + value.length + fileCharacters;
}

function failed(error: ServerError): Outcome {
  return { status: error.status, error: toErrorBody(error) };
}
