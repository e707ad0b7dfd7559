import { MAX_REQUEST_ID_CHARACTERS } from "../wire/limits.ts";
import type { MiddlewareHandler } from "hono";
import { sha256 } from "../sandbox/sha256.ts";
import type { AppEnv } from "./app_env.ts";
import { ServerError } from "./server_error.ts";

const HEADER = "x-request-id";
const MAX_ANSWERS = 4096;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

interface Kept {
  readonly owner: string;
  readonly id: string;
  /** Its hash. */
  readonly body: string;
  readonly cut: AbortController;
  readonly answer: Promise<Answer>;
  answered: boolean;
  bytes: number;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/**
 * Gives a request that comes again, with the same `X-Request-ID`, the answer that it had, and does nothing twice.
 * One with an id goes on when whoever asked goes away, as they will ask again, until it is cancelled. Failures of
 * the server are forgotten; answers are, the oldest first, when there are too many.
 */
export class SameAnswers {
  readonly #answers = new Map<string, Kept>();

  /** Cuts short the requests of an owner's that have this id and have no answer yet; says whether there was one. */
  cancel(owner: string, id: string): boolean {
    const running = [...this.#answers.values()].filter((kept) =>
      kept.owner === owner && kept.id === id && !kept.answered
    );
    for (const { cut } of running) cut.abort(new DOMException("Whoever asked wants no answer", "AbortError"));
    return running.length > 0;
  }

  /** Answers what was asked before, and remembers the answers to the rest. */
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
      const body = await sha256(new Uint8Array(await c.req.raw.clone().arrayBuffer()));
      const found = this.#answers.get(key);
      if (found && found.body !== body) {
        throw new ServerError("conflict", `${HEADER} was used for another request`);
      }
      if (found) return respond(await found.answer);
      const cut = new AbortController();
      c.set("signal", cut.signal);
      const answer = next().then(() => taken(c.res));
      const kept = { owner, id, body, cut, answer, answered: false, bytes: 0 };
      this.#keep(key, kept);
      c.res = respond(await kept.answer);
    };
  }

  #keep(key: string, kept: Kept): void {
    this.#answers.set(key, kept);
    kept.answer.then(({ status, body }) => {
      if (status >= 500 || status === 429) return void this.#answers.delete(key);
      kept.answered = true;
      kept.bytes = body.length;
      this.#shorten();
    }, () => this.#answers.delete(key));
  }

  #shorten(): void {
    let bytes = this.#answers.values().reduce((sum, kept) => sum + kept.bytes, 0);
    for (const [key, kept] of this.#answers) {
      if (this.#answers.size <= MAX_ANSWERS && bytes <= MAX_ANSWER_BYTES) return;
      if (!kept.answered) continue; // it comes again, or is cancelled, as long as it runs
      this.#answers.delete(key);
      bytes -= kept.bytes;
    }
  }
}

async function taken(response: Response): Promise<Answer> {
  const { status, headers } = response;
  return { status, headers: new Headers(headers), body: await response.bytes() };
}

function respond({ status, headers, body }: Answer): Response {
  return new Response(status === 204 ? null : body, { status, headers });
}
