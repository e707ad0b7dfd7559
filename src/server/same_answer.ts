import type { MiddlewareHandler } from "hono";
import { sha256 } from "../sandbox/sha256.ts";
import type { AppEnv } from "./app_env.ts";
import { ServerError } from "./server_error.ts";

const HEADER = "x-request-id";
const MAX_ID_CHARACTERS = 255;
const MAX_ANSWERS = 4096;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

interface Kept {
  readonly body: string;
  readonly answer: Promise<Answer>;
  bytes: number;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/**
 * Gives a request that comes again, with the same `X-Request-ID`, the answer that it had, and does nothing twice.
 * One with an id goes on when whoever asked goes away, as they will ask again. Failures of the server are
 * forgotten; answers are, the oldest first, when there are too many.
 */
export function sameAnswer(): MiddlewareHandler<AppEnv> {
  const answers = new Map<string, Kept>();
  return async (c, next) => {
    const id = c.req.header(HEADER);
    if (id === undefined || c.req.method !== "POST" || c.req.path.endsWith("/stream")) return await next();
    if (id.length > MAX_ID_CHARACTERS) {
      throw new ServerError("invalid", `${HEADER} must have at most ${MAX_ID_CHARACTERS} characters`);
    }
    const key = JSON.stringify([c.get("owner"), c.req.path, id]);
    const body = await sha256(new Uint8Array(await c.req.raw.clone().arrayBuffer()));
    const found = answers.get(key);
    if (found && found.body !== body) {
      throw new ServerError("conflict", `${HEADER} was used for another request`);
    }
    if (found) return respond(await found.answer);
    c.set("signal", new AbortController().signal);
    const kept = keep(answers, key, body, async () => {
      await next();
      return await taken(c.res);
    });
    c.res = respond(await kept.answer);
  };
}

function keep(answers: Map<string, Kept>, key: string, body: string, work: () => Promise<Answer>): Kept {
  const kept: Kept = { body, answer: work(), bytes: 0 };
  answers.set(key, kept);
  kept.answer.then((answer) => {
    if (answer.status >= 500 || answer.status === 429) return void answers.delete(key);
    kept.bytes = answer.body.length;
    shorten(answers);
  }, () => answers.delete(key));
  return kept;
}

function shorten(answers: Map<string, Kept>): void {
  let bytes = answers.values().reduce((sum, kept) => sum + kept.bytes, 0);
  for (const [key, kept] of answers) {
    if (answers.size <= MAX_ANSWERS && bytes <= MAX_ANSWER_BYTES) return;
    answers.delete(key);
    bytes -= kept.bytes;
  }
}

async function taken(response: Response): Promise<Answer> {
  const { status, headers } = response;
  return { status, headers: new Headers(headers), body: await response.bytes() };
}

function respond({ status, headers, body }: Answer): Response {
  return new Response(status === 204 ? null : body, { status, headers });
}
