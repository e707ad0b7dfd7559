import { createRoute } from "@hono/zod-openapi";
import { displayCharacters } from "../../sandbox/display.ts";
import type * as z from "zod";
import { mapSequentialByKey } from "../../async/map_concurrently.ts";
import { jsonLength } from "../../json.ts";
import type { ExecResult } from "../../sandbox/contract/exec.ts";
import { EXEC_FIELDS } from "../../sandbox/contract/exec_fields.ts";
import { MAX_BATCH_CHARACTERS } from "../../wire/limits.ts";
import {
  type batchOutcomeSchema,
  batchRequestSchema,
  batchResponseSchema,
  type execResultSchema,
} from "../../wire/v1.ts";
import { ServerError, toErrorBody, toPublicError } from "../http/http_errors.ts";
import type { SessionService } from "../sessions/session_service.ts";
import { BATCH, BATCH_RESULT } from "./examples.ts";
import { type Api, jsonBody, jsonResponse } from "./route.ts";
import { toExecBody } from "./sessions.ts";

/** Characters that each value of JSON counts for, which bounds the number of values of a response to a million. */
const CHARACTERS_PER_VALUE = 64;

const batch = createRoute({
  operationId: "execBatch",
  method: "post",
  path: "/v1/exec:batch",
  tags: ["sessions"],
  summary: "Run many programs, each in a session or in a fresh interpreter",
  request: { body: jsonBody(batchRequestSchema, BATCH) },
  responses: {
    200: jsonResponse(batchResponseSchema, "One result per item, in order", { example: BATCH_RESULT }),
  },
});

type Item = z.output<typeof batchRequestSchema>["items"][number];
type Outcome = z.output<typeof batchOutcomeSchema>;

/** Adds the route for many programs in a request. Programs of a session run in the order of the batch. */
export function addBatchRoutes(app: Api, sessions: SessionService): void {
  app.openapi(batch, async (c) => {
    const run = new BatchRun(sessions, c.get("owner"));
    return c.json({ results: await run.all(c.req.valid("json").items, c.get("signal")) }, 200);
  });
}

/** A batch and the shared output budget. */
class BatchRun {
  readonly #sessions: SessionService;
  readonly #owner: string;
  #characters = 0;
  /** Set after a wait for a session timed out: the other items would wait as long, in turn. */
  #full: Outcome | undefined;

  constructor(sessions: SessionService, owner: string) {
    this.#sessions = sessions;
    this.#owner = owner;
  }

  /** Runs all items and returns their outcomes in order. */
  async all(items: readonly Item[], signal: AbortSignal): Promise<Outcome[]> {
    return await mapSequentialByKey(items, (item, signal) => this.#outcome(item, signal), {
      keyOf: ({ session }) => session,
      concurrency: this.#sessions.maxSessions,
      signal,
    });
  }

  async #outcome(item: Item, signal: AbortSignal): Promise<Outcome> {
    if (this.#characters > MAX_BATCH_CHARACTERS) return TOO_LARGE;
    if (item.session === undefined && this.#full) return this.#full;
    try {
      const result = toExecBody(await this.#run(item, signal));
      this.#characters += outputCharacters(result);
      return { status: 200, result };
    } catch (thrown) {
      const error = toPublicError(thrown);
      if (error.code === "timeout") this.#full = failed(error);
      return failed(error);
    }
  }

  async #run(item: Item, signal: AbortSignal): Promise<ExecResult> {
    const options = { ...EXEC_FIELDS.fromJson(item), signal };
    const owner = this.#owner;
    if (item.session !== undefined) {
      return await (await this.#sessions.locate(item.session, owner)).exec(item.code, options);
    }
    await using session = await this.#sessions.borrow({ owner, once: true, signal });
    return await session.exec(item.code, options);
  }
}

function outputCharacters(
  { stdout, stderr, value = "", valueJson, files = {}, ...shown }: z.output<typeof execResultSchema>,
): number {
  const fileCharacters = Object.values(files).reduce((sum, file) => sum + file.length, 0);
  const jsonCharacters = valueJson === undefined
    ? 0
    : jsonLength(valueJson, { perValue: CHARACTERS_PER_VALUE });
  return stdout.length + stderr.length + value.length + jsonCharacters + fileCharacters +
    displayCharacters(shown);
}

/** Outcome of the programs after programs with too large output. A batch can have thousands of them. */
const TOO_LARGE = failed(
  new ServerError(
    "too_large",
    `All programs of a batch together must print at most ${MAX_BATCH_CHARACTERS} characters`,
  ),
);

function failed(error: ServerError): Outcome {
  return { status: error.status, error: toErrorBody(error) };
}
