import { Hono } from "hono/quick";
import { mapConcurrently } from "../../async/map_concurrently.ts";
import { SandboxError } from "../../errors.ts";
import type { Grader } from "../../rewards/grader.ts";
import { escapeControls } from "../../terminal_text.ts";
import { PADDOCK_VERSION } from "../../version.ts";
import { Budget } from "../admission/budget.ts";
import { access, securityHeaders } from "../http/access.ts";
import { type AppEnv, watchDisconnect } from "../http/context.ts";
import {
  errorResponse,
  notFoundResponse,
  ServerError,
  toErrorBody,
  toServerError,
} from "../http/http_errors.ts";
import { requestLimits } from "../http/request_limits.ts";
import { streamBody, type StreamBodyOptions } from "../http/response_stream.ts";
import { REQUEST_LIMITS, type RequestLimits } from "../limits.ts";
import { type EdgeScore, Grading, type GradingRuntime, MAX_SANDBOXED_GRADES } from "./grading.ts";
import { parseGradeRequest, parseItems, readJson } from "./request.ts";

/** Options of {@linkcode createEdgeApp}. */
export interface EdgeAppOptions {
  /**
   * Required token of each request (`Authorization: Bearer …`). Without it, only requests of the same host are served.
   */
  token?: string | undefined;
  /** Further graders by name; they may replace built-in ones. */
  graders?: Readonly<Record<string, Grader>> | undefined;
  /**
   * Called with internal errors, which clients never see.
   *
   * @default writes to the log
   */
  onError?: ((error: unknown) => void) | undefined;
}

/** Request handler in the form that Deno, Bun, Cloudflare and others serve. */
export interface EdgeApp extends AsyncDisposable {
  /** Version of Paddock. */
  readonly version: string;
  /**
   * Handles a request. `platform` is what the runtime passes as second argument: from the arguments of Deno, Bun and
   * `@hono/node-server`, a server without a token takes the sender's address.
   */
  fetch(request: Request, platform?: unknown): Response | Promise<Response>;
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
 * Creates a server that scores conversations. It uses Web APIs only; the runtime adds what it has.
 *
 * @throws {RangeError} if the token is shorter than 16 characters.
 */
export function createEdgeApp(options: EdgeAppOptions, runtime: GradingRuntime): EdgeApp {
  const { token, graders = {}, onError = logError } = options;
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
  const grading = new Grading(graders, runtime);
  routes(app, grading);
  return {
    version: PADDOCK_VERSION,
    fetch(request, platform) {
      const isOpen = token !== undefined || LOOPBACK.test(senderOf(request, platform) ?? "");
      return isOpen ? app.fetch(request) : errorResponse(foreignError());
    },
    /** Ends the workers of the graders. */
    [Symbol.asyncDispose]: () => grading[Symbol.asyncDispose](),
  };
}

function logError(error: unknown): void {
  // deno-lint-ignore no-console -- an edge module has no other log
  console.error(
    `paddock: ${escapeControls(error instanceof Error ? error.stack ?? String(error) : String(error))}`,
  );
}

function routes(app: Hono<AppEnv>, grading: Grading): void {
  app.get("/", (c) => c.text(renderHelp(grading)));
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
 * requests of more than a small chunk nothing else does.
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

/** Grades an item of a batch. An error is part of the outcome and affects no other item. */
async function outcomeOf(grading: Grading, item: unknown, signal: AbortSignal): Promise<Outcome> {
  try {
    return { status: 200, result: await grading.grade(parseGradeRequest(item), signal) };
  } catch (thrown) {
    const error = toServerError(thrown);
    return { status: error.status, error: toErrorBody(error) };
  }
}

const SANDBOXED_HELP = `
A program under test runs in a worker of this server ("isolation": "worker" in the response). It has no access to
files, network or environment, and its time, memory, output and files are limited, but neither by another process
nor by the operating system. Use \`paddock serve\` if you need that.
`;

/** Returns the plain-text help of the server. */
function renderHelp({ names, runsPython }: Grading): string {
  return `Paddock, graders at the edge

POST /grade         {"grader": "gsm8k", "completion": "It is <answer>42</answer>", "answer": "42"}
                    returns {"score": 1, "parts": {…}}; a score of null means that there is no score.
                    "messages", a list of {"role", "content"}, may replace "completion".
                    "task" has further fields: {"query", "answer", "reference", "fields"}.
${runsPython ? `                    "tests" is a list of Python asserts for hidden_tests.\n` : ""}\
POST /grade:batch   {"items": [as above, …]} returns {"results": [{"status", "result" or "error"}, …]}
GET  /graders       ${names.join(", ")}
GET  /health
${runsPython ? SANDBOXED_HELP : ""}`;
}

const LOOPBACK = /^(127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/;

/** Second arguments of `fetch`: of Deno, of Bun, and of `@hono/node-server`. */
interface Platform {
  readonly remoteAddr?: { readonly hostname?: unknown };
  readonly requestIP?: (request: Request) => { readonly address?: unknown } | null;
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: unknown } };
}

/** Returns the address of a request's sender; `undefined` if the runtime does not report it. */
function senderOf(request: Request, platform: unknown): string | undefined {
  if (typeof platform !== "object" || platform === null) return undefined;
  const { remoteAddr, incoming }: Platform = platform;
  const hasIp = "requestIP" in platform && typeof platform.requestIP === "function";
  const address = remoteAddr?.hostname ?? incoming?.socket?.remoteAddress ??
    (hasIp ? (platform as Required<Platform>).requestIP(request)?.address : undefined);
  return typeof address === "string" ? address : undefined;
}

function foreignError(): ServerError {
  return new ServerError(
    "forbidden",
    "A server without a token serves its own host only: set a token with edgeApp({ token })",
  );
}
