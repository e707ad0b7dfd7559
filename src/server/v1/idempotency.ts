import { createRoute } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { z } from "zod";
import { sha256 } from "../../hash.ts";
import { MAX_REQUEST_ID_CHARACTERS } from "../../wire/limits.ts";
import type { AppEnv } from "../http/context.ts";
import { ServerError } from "../http/errors.ts";
import { MAX_KEPT_RESPONSE_BYTES, MAX_KEPT_RESPONSES } from "../limits.ts";
import { type Api, failures } from "./route.ts";

const HEADER = "x-request-id";

interface Entry {
  readonly owner: string;
  readonly id: string;
  /** Hash of the request's body. */
  readonly bodyHash: string;
  readonly cancellation: AbortController;
  readonly response: Promise<StoredResponse>;
  isComplete: boolean;
  bytes: number;
}

interface StoredResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/**
 * Gives a repeated request with the same `X-Request-ID` the first response, and runs nothing twice. A request with an
 * id continues when its client disconnects, since the client may retry, until it is cancelled. Server errors are not
 * stored. When there are too many responses, the oldest are evicted.
 */
export class IdempotencyCache {
  readonly #entries = new Map<string, Entry>();

  /** Cancels the owner's running requests with this id. Returns false if there are none. */
  cancel(owner: string, id: string): boolean {
    const running = [...this.#entries.values()].filter((entry) =>
      entry.owner === owner && entry.id === id && !entry.isComplete
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
      if (id === undefined || c.req.method !== "POST" || c.req.path.endsWith("/stream")) return await next();
      if (id.length > MAX_REQUEST_ID_CHARACTERS) {
        throw new ServerError(
          "invalid",
          `${HEADER} must have at most ${MAX_REQUEST_ID_CHARACTERS} characters`,
        );
      }
      const owner = c.get("owner");
      const key = JSON.stringify([owner, c.req.path, id]);
      const bodyHash = await sha256(new Uint8Array(await c.req.raw.clone().arrayBuffer()));
      const found = this.#entries.get(key);
      if (found && found.bodyHash !== bodyHash) {
        throw new ServerError("conflict", `${HEADER} was used for another request`);
      }
      if (found) return toResponse(await found.response);
      const cancellation = new AbortController();
      c.set("signal", cancellation.signal);
      const response = next().then(() => storeResponse(c.res));
      const entry = { owner, id, bodyHash, cancellation, response, isComplete: false, bytes: 0 };
      this.#add(key, entry);
      c.res = toResponse(await entry.response);
    };
  }

  #add(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    entry.response.then(({ status, body }) => {
      if (status >= 500 || status === 429) return void this.#entries.delete(key);
      entry.isComplete = true;
      entry.bytes = body.length;
      this.#evict();
    }, () => this.#entries.delete(key));
  }

  #evict(): void {
    let bytes = this.#entries.values().reduce((sum, entry) => sum + entry.bytes, 0);
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size <= MAX_KEPT_RESPONSES && bytes <= MAX_KEPT_RESPONSE_BYTES) return;
      if (!entry.isComplete) continue; // a running request may be repeated or cancelled
      this.#entries.delete(key);
      bytes -= entry.bytes;
    }
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
  method: "delete",
  path: "/v1/requests/{id}",
  tags: ["requests"],
  summary: "Cancel your running request with this X-Request-ID",
  request: { params: z.object({ id: z.string().max(MAX_REQUEST_ID_CHARACTERS) }) },
  responses: { 204: { description: "The request is cancelled" }, ...failures },
});

/** Adds the route that cancels requests with an id, since these outlive their connections. */
export function addRequestRoutes(app: Api, requests: IdempotencyCache): void {
  app.openapi(cancel, (c) => {
    if (requests.cancel(c.get("owner"), c.req.valid("param").id)) return c.body(null, 204);
    throw new ServerError("not_found", "There is no such request");
  });
}
