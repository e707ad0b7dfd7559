import { createRoute } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import * as z from "zod";
import { sha256 } from "../../hash.ts";
import { MAX_REQUEST_ID_CHARACTERS } from "../../wire/limits.ts";
import type { Budget, BudgetLease, Budgets } from "../admission/budget.ts";
import type { AppEnv } from "../http/context.ts";
import { ServerError } from "../http/http_errors.ts";
import { MAX_KEPT_RESPONSES } from "../limits.ts";
import { type Api, failures, isStreamPath } from "./route.ts";

const HEADER = "x-request-id";
/** Memory of a kept response beside the body. */
const ENTRY_BYTES = 2048;

interface Entry {
  readonly id: string;
  /** Hash of the request's body. */
  readonly bodyHash: string;
  readonly cancellation: AbortController;
  readonly response: Promise<StoredResponse>;
  readonly slot: BudgetLease;
  readonly memory: BudgetLease;
  isComplete: boolean;
}

interface StoredResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/**
 * Gives a repeated request with the same `X-Request-ID` the first response, and runs nothing twice. A request with an
 * id continues when the client disconnects, since the client may retry, until cancelled. Server errors are not stored.
 * When an owner has too many responses, the owner's oldest are evicted, and never responses of another owner.
 */
export class IdempotencyCache {
  readonly #byOwner = new Map<string, Map<string, Entry>>();
  readonly #kept: Budget;
  readonly #count: Budget;

  constructor(budgets: Budgets) {
    this.#kept = budgets.kept;
    this.#count = budgets.counting({
      total: MAX_KEPT_RESPONSES,
      unit: `requests with ${HEADER}`,
      advice: "wait for responses to earlier ones",
    });
  }

  /** Cancels the owner's running requests with this id. Returns false if there are none. */
  cancel(owner: string, id: string): boolean {
    const running = [...this.#entriesOf(owner).values()].filter((entry) =>
      entry.id === id && !entry.isComplete
    );
    for (const { cancellation } of running) {
      cancellation.abort(new DOMException("The client cancelled the request", "AbortError"));
    }
    return running.length > 0;
  }

  /** Returns the middleware, which replays stored responses and stores new ones. */
  handler(): MiddlewareHandler<AppEnv> {
    return async (c, next) => {
      const id = c.req.header(HEADER);
      if (id === undefined || c.req.method !== "POST" || isStreamPath(c.req.path)) return await next();
      if (id.length > MAX_REQUEST_ID_CHARACTERS) {
        throw new ServerError(
          "invalid",
          `${HEADER} must have at most ${MAX_REQUEST_ID_CHARACTERS} characters`,
        );
      }
      const owner = c.get("owner");
      const key = JSON.stringify([c.req.path, id]);
      const bodyHash = await sha256(await c.req.bytes());
      const found = this.#entriesOf(owner).get(key);
      if (found && found.bodyHash !== bodyHash) {
        throw new ServerError("conflict", `${HEADER} was used for another request`);
      }
      if (found) return toResponse(await found.response);
      const slot = this.#takeEvicting(owner, () => this.#count.take(owner, 1));
      const cancellation = new AbortController();
      c.set("signal", cancellation.signal);
      const response = next().then(() => storeResponse(c.res));
      const memory = this.#kept.take(owner, 0);
      const entry = { id, bodyHash, cancellation, response, isComplete: false, slot, memory };
      this.#entriesOf(owner).set(key, entry);
      this.#keep(owner, key, entry);
      c.res = toResponse(await entry.response);
    };
  }

  #entriesOf(owner: string): Map<string, Entry> {
    const entries = this.#byOwner.get(owner) ?? new Map();
    this.#byOwner.set(owner, entries); // an owner is a token of the server, so there are few
    return entries;
  }

  /** Keeps a response on arrival, except an error of the server or a too large response. */
  async #keep(owner: string, key: string, entry: Entry): Promise<void> {
    try {
      const { status, body } = await entry.response;
      if (status >= 500 || status === 429) return this.#drop(owner, key);
      this.#takeEvicting(owner, () => entry.memory.resize(ENTRY_BYTES + body.length));
      entry.isComplete = true;
    } catch {
      this.#drop(owner, key); // the request failed, or there is no memory for the response
    }
  }

  /** Takes a part of an owner's budget. Evicts the owner's oldest responses until there is room. */
  #takeEvicting<T>(owner: string, take: () => T): T {
    for (;;) {
      try {
        return take();
      } catch (error) {
        const isFull = error instanceof ServerError && error.code === "busy";
        const oldest = this.#entriesOf(owner).entries().find(([, { isComplete }]) => isComplete);
        if (!isFull || oldest === undefined) throw error; // running requests stay: they may be cancelled
        this.#drop(owner, oldest[0]);
      }
    }
  }

  #drop(owner: string, key: string): void {
    const entry = this.#entriesOf(owner).get(key);
    this.#entriesOf(owner).delete(key);
    entry?.slot[Symbol.dispose]();
    entry?.memory[Symbol.dispose]();
  }
}

async function storeResponse(response: Response): Promise<StoredResponse> {
  const { status, headers } = response;
  return { status, headers: new Headers(headers), body: await response.bytes() };
}

function toResponse({ status, headers, body }: StoredResponse): Response {
  return new Response(status === 204 ? null : body, { status, headers });
}

const cancel = createRoute({
  operationId: "cancelRequest",
  method: "delete",
  path: "/v1/requests/{id}",
  tags: ["requests"],
  summary: "Cancel your running request with this X-Request-ID",
  request: { params: z.object({ id: z.string().max(MAX_REQUEST_ID_CHARACTERS) }) },
  responses: { 204: { description: "The request is cancelled" }, ...failures("not_found") },
});

/** Adds the route that cancels requests with an id, since these outlive their connections. */
export function addRequestRoutes(app: Api, requests: IdempotencyCache): void {
  app.openapi(cancel, (c) => {
    if (requests.cancel(c.get("owner"), c.req.valid("param").id)) return c.body(null, 204);
    throw new ServerError("not_found", "There is no such request");
  });
}
