import type { AppContext } from "../server/http/context.ts";
import type { Dialect } from "./dialects/dialect.ts";
import type { GatewayError } from "./gateway_error.ts";
import type { LiveSession } from "./live_session.ts";
import type { ModelRequest } from "./model_request.ts";
import type { SampledTurn } from "./session/session_row.ts";
import { canHaveSchema } from "./session/turn_sampling.ts";

/** Milliseconds between two texts that keep a connection open. */
const KEEP_ALIVE_MS = 10_000;

const encoder = new TextEncoder();

/** How an answer is delivered. */
export interface DeliveryOptions {
  readonly live: LiveSession;
  readonly dialect: Dialect;
  readonly request: ModelRequest;
  /**
   * Milliseconds that a stream waits for the sample before its head is sent. A failure before has a status of
   * its own.
   */
  readonly headWaitMs: number;
  /** Converts any error into one for the agent. */
  readonly toError: (error: unknown) => GatewayError;
}

/**
 * Answers a request, streamed or not. The session is told if the agent does not read the whole answer. A
 * stream whose model server fails after the head has an error event and breaks off: it never ends as a whole
 * answer does.
 */
export async function deliver(c: AppContext, options: DeliveryOptions): Promise<Response> {
  const { live, dialect, request } = options;
  const leave = new AbortController();
  const signal = AbortSignal.any([c.get("signal"), leave.signal]);
  c.set("isCounted", true); // the body is sent as the agent reads
  const headers = ignoredHeaders(request);
  if (!request.stream) {
    const turn = await live.answer(request, { signal });
    const body = JSON.stringify(dialect.toJson(turn.answer, request));
    dialect.remember?.(turn.answer, request, live.items);
    return new Response(bodyOf(new Pieces([body]), { live, turn: () => turn, leave }), {
      headers: { "content-type": "application/json", ...headers },
    });
  }
  let answered: SampledTurn | undefined;
  const pieces = new Pieces([]);
  const done = live.answer(request, { signal }).then((turn) => {
    answered = turn;
    dialect.remember?.(turn.answer, request, live.items);
    pieces.end(dialect.toEvents(turn.answer, request));
  });
  await waitAtMost(done, options.headWaitMs);
  done.catch((error) => pieces.fail(dialect.toErrorEvent(options.toError(error)), error));
  const body = bodyOf(pieces, { live, turn: () => answered, leave, keepAlive: dialect.keepAlive });
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store", ...headers },
  });
}

/** Names in headers what the agent asked for and the model server did not get. */
function ignoredHeaders({ ignoredTools, sampling, tools, toolChoice }: ModelRequest): Record<string, string> {
  const names = ignoredTools.slice(0, 16).map((name) => name.replace(/[^\w.-]/g, "?").slice(0, 40));
  const dropsSchema = sampling.jsonSchema !== undefined && !canHaveSchema({ tools, toolChoice });
  return {
    ...(names.length > 0 && { "x-paddock-ignored-tools": names.join(",") }),
    ...(dropsSchema && { "x-paddock-ignored": "json-schema" }),
  };
}

/** Waits for the sample, for a time. Rejects if the sample fails before. */
async function waitAtMost(done: Promise<void>, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([done, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The pieces of a body, which come when the model server has sampled. */
class Pieces {
  readonly #pieces: string[];
  #isEnded: boolean;
  #failure: { readonly error: unknown } | undefined;
  readonly #changed = Promise.withResolvers<void>();

  constructor(pieces: readonly string[]) {
    this.#pieces = [...pieces];
    this.#isEnded = pieces.length > 0;
  }

  end(pieces: readonly string[]): void {
    this.#pieces.push(...pieces);
    this.#isEnded = true;
    this.#changed.resolve();
  }

  /** Ends the body with a last piece, after which the connection breaks. */
  fail(last: string, error: unknown): void {
    this.#failure = { error };
    this.end([last]);
  }

  /**
   * Returns the next piece, `undefined` at the end, or `wait` if there is none for a time. Rejects after the
   * last piece of a body that failed.
   */
  async next(wait: string | undefined): Promise<string | undefined> {
    if (!this.#isEnded) {
      const timeout = Promise.withResolvers<void>();
      const timer = setTimeout(timeout.resolve, KEEP_ALIVE_MS);
      await Promise.race([this.#changed.promise, timeout.promise]);
      clearTimeout(timer);
      if (!this.#isEnded) return wait ?? "";
    }
    const piece = this.#pieces.shift();
    if (piece === undefined && this.#failure !== undefined) throw this.#failure.error;
    return piece;
  }
}

/** Returns a body that the agent pulls. If the agent leaves before the end, the answer is lost. */
function bodyOf(
  pieces: Pieces,
  { live, turn, leave, keepAlive }: {
    live: LiveSession;
    turn: () => SampledTurn | undefined;
    leave: AbortController;
    keepAlive?: string;
  },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const noteLost = () => {
    const sampled = turn();
    if (sampled !== undefined) live.session.noteLost(sampled);
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const piece = await pieces.next(keepAlive);
        if (piece === undefined) controller.close();
        else controller.enqueue(encoder.encode(piece));
      } catch (error) {
        controller.error(error);
      }
    },
    cancel() {
      noteLost();
      leave.abort(new DOMException("The client has disconnected", "AbortError"));
    },
  }, { highWaterMark: 0 });
}
