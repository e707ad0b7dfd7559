import { Hono } from "hono";
import { mapConcurrently } from "../../async/map_concurrently.ts";
import { SandboxError } from "../../errors.ts";
import type { Grader } from "../../rewards/grader.ts";
import { escapeControls } from "../../terminal_text.ts";
import { PADDOCK_VERSION } from "../../version.ts";
import { Budget } from "../budget.ts";
import { access, securityHeaders } from "../http/access.ts";
import { type AppEnv, watchDisconnect } from "../http/context.ts";
import { errorResponse, notFoundResponse, ServerError, toErrorBody, toServerError } from "../http/errors.ts";
import { requestLimits } from "../http/request_limits.ts";
import { streamBody, type StreamBodyOptions } from "../http/response_stream.ts";
import { REQUEST_LIMITS, type RequestLimits } from "../limits.ts";
import { type EdgeScore, Grading, MAX_SANDBOXED_GRADES } from "./grading.ts";
import { parseGradeRequest, parseItems, readJson } from "./request.ts";

/** Options of {@linkcode edgeApp}. Code sets them, since the edge server cannot read the environment. */
export interface EdgeOptions {
  /** Required token of each request (`Authorization: Bearer …`). Without it, only requests of the same host are served. */
  token?: string | undefined;
  /** Further graders by name; they run in the server itself. */
  graders?: Readonly<Record<string, Grader>> | undefined;
  /**
   * Time limit of a program under test, in milliseconds.
   *
   * @default 10_000
   */
  timeoutMs?: number | undefined;
  /**
   * Called with internal errors, which clients never see.
   *
   * @default writes to the log
   */
  onError?: ((error: unknown) => void) | undefined;
}

/** Request handler for `deno serve`. */
export interface EdgeApp extends AsyncDisposable {
  /** Handles a request from `peer`. */
  fetch(request: Request, peer?: Peer): Response | Promise<Response>;
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];
const MIB = 1024 * 1024;
const LIMITS: RequestLimits = { ...REQUEST_LIMITS, bodyBytes: 4 * MIB, depth: 32 };
const WAITING_BYTES = 192 * MIB;
const MIN_TOKEN = 16;

interface Outcome {
  readonly status: number;
  readonly result?: EdgeScore;
  readonly error?: { readonly type: string; readonly message: string };
}

/**
 * Creates a server that scores conversations with no permission except to listen: it uses no file, process,
 * environment or native library. Python runs in workers of its own process, which isolate less than a process does:
 * see docs/edge.md.
 *
 * @throws {RangeError} if the token is shorter than 16 characters.
 */
export function edgeApp(options: EdgeOptions = {}): EdgeApp {
  const { token, graders = {}, timeoutMs = 10_000, onError = logError } = options;
  if (token !== undefined && token.length < MIN_TOKEN) {
    throw new RangeError(
      `Cannot serve as 'token' must have at least ${MIN_TOKEN} characters: found ${token.length}`,
    );
  }
  const app = new Hono<AppEnv>();
  app.onError((thrown) => {
    const error = toServerError(thrown);
    if (error.code === "internal" || error.cause instanceof SandboxError) onError(error.cause);
    return errorResponse(error);
  });
  app.notFound(({ req }) => notFoundResponse(req, "/"));
  const waiting = new Budget({
    total: WAITING_BYTES,
    unit: "bytes of waiting data",
    advice: "send fewer requests at once",
  });
  app.use(securityHeaders());
  app.use(access(token === undefined ? { hosts: LOOPBACK_NAMES } : { tokens: [token] }));
  app.use(watchDisconnect(), requestLimits(LIMITS, waiting, { measured: false }));
  const grading = new Grading({ graders, timeoutMs });
  routes(app, grading);
  return {
    fetch(request, peer) {
      const refusal = token === undefined ? requireLoopback(peer) : undefined;
      return refusal ? errorResponse(refusal) : app.fetch(request);
    },
    /** Ends the workers of the graders. */
    [Symbol.asyncDispose]: () => grading[Symbol.asyncDispose](),
  };
}

function logError(error: unknown): void {
  // deno-lint-ignore no-console -- an edge module has no other log
  console.error(`paddock: ${escapeControls(Deno.inspect(error))}`);
}

function routes(app: Hono<AppEnv>, grading: Grading): void {
  app.get("/", (c) => c.text(renderHelp(grading.names)));
  app.get("/health", (c) => c.json({ status: "ok", version: PADDOCK_VERSION }));
  app.on("GET", ["/graders", "/v1/graders"], (c) => c.json({ graders: grading.names }));
  app.on("POST", ["/grade", "/v1/grade"], async (c) => {
    return c.json(await grading.grade(parseGradeRequest(await readJson(c.req)), c.get("signal")));
  });
  app.post("/grade:batch", async (c) => {
    const items = parseItems(await readJson(c.req));
    return c.body(streamOutcomes(grading, items, { signal: c.get("signal"), memory: c.get("memory") }), 200, {
      "content-type": "application/json",
    });
  });
}

/**
 * Returns the response to a batch, written while it is graded. A write detects that the client has disconnected; for
 * requests of more than one small chunk nothing else does.
 */
function streamOutcomes(
  grading: Grading,
  items: readonly unknown[],
  stream: StreamBodyOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const run = (item: unknown, signal: AbortSignal) => outcomeOf(grading, item, signal);
  return streamBody(async (body, signal) => {
    let before = '{"results":[';
    const options = { concurrency: MAX_SANDBOXED_GRADES, ordered: true, signal };
    for await (const outcome of mapConcurrently(items, run, options)) {
      await body.room();
      body.send(before + JSON.stringify(outcome));
      before = ",";
    }
    body.send("]}");
  }, stream);
}

/** Grades one item of a batch. An error is part of the outcome and affects no other item. */
async function outcomeOf(grading: Grading, item: unknown, signal: AbortSignal): Promise<Outcome> {
  try {
    return { status: 200, result: await grading.grade(parseGradeRequest(item), signal) };
  } catch (thrown) {
    const error = toServerError(thrown);
    return { status: error.status, error: toErrorBody(error) };
  }
}

/** Returns the plain-text help of the server. */
export function renderHelp(graders: readonly string[]): string {
  return `Paddock, graders at the edge

POST /grade         {"grader": "gsm8k", "completion": "It is <answer>42</answer>", "answer": "42"}
                    returns {"score": 1, "parts": {…}}; a score of null means that there is no score.
                    "messages", a list of {"role", "content"}, may replace "completion".
                    "task" has further fields: {"query", "answer", "reference", "fields"}.
                    "tests" is a list of Python asserts for hidden_tests.
POST /grade:batch   {"items": [as above, …]} returns {"results": [{"status", "result" or "error"}, …]}
GET  /graders       ${graders.join(", ")}
GET  /health

A program under test runs in a worker of this server ("isolation": "worker" in the response). It has no access to
files, network or environment, and its time, memory, output and files are limited, but neither by another process
nor by the operating system. Use \`paddock serve\` if you need that.
`;
}

/** Sender of a request, as `Deno.serve` reports it. */
export interface Peer {
  readonly remoteAddr: Deno.Addr;
}

const LOOPBACK = /^(127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/;

/** Returns an error unless the sender is known to be on the server's own host. */
export function requireLoopback(peer: Peer | undefined): ServerError | undefined {
  const address = peer?.remoteAddr;
  if (address !== undefined && "hostname" in address && LOOPBACK.test(address.hostname)) return undefined;
  return new ServerError(
    "forbidden",
    "A server without a token serves its own host only: set a token with edgeApp({ token })",
  );
}
