import { Command, Option } from "commander";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { errorMessage } from "../errors.ts";
import { HttpServer } from "../server/http/http_server.ts";
import { GarbageCollector } from "../server/garbage.ts";
import { MAX_CONNECTIONS } from "../server/limits.ts";
import { PaddockServer } from "../server/paddock_server.ts";
import { EXIT, runCommand } from "./command.ts";
import { UsageError } from "./errors.ts";
import { resolveTokenizer } from "./input.ts";
import { currentIo } from "./io.ts";
import { collectValues, parseWholeNumber } from "./options.ts";
import { escapeControls } from "../terminal_text.ts";
import { writeText } from "./output.ts";
import { openServedGraders } from "./rollout/graders.ts";
import { openToolFiles } from "./rollout/tools.ts";
import { type Layer, LAYERS } from "../sandbox/profile/schema.ts";
import {
  announceMissingLayers,
  createLazyPool,
  flagsOf,
  profileOption,
  requireLayers,
  resolveProfile,
  type SandboxFlags,
} from "./sandbox_options.ts";

interface ServeFlags extends SandboxFlags {
  port: number;
  host: string;
  token?: string[];
  trustedProxy?: string[];
  maxSessions?: number;
  maxSessionsPerToken?: number;
  queue: number;
  bufferMemory: number;
  metricsToken?: string;
  tool?: string[];
  requireLayer?: (Layer | "all")[];
  openenv: "coding" | "chat";
  tokenizer?: string;
}

const NOTES = `
Tokens can also be set in $PADDOCK_TOKEN, separated by commas; process lists do not show them there. Each token
has its own sessions. When requests wait, the token with the fewest sessions is served next. With several tokens, a
used interpreter is replaced by a fresh one. With one token or none, it is rewound: this is faster, but only for
users who trust one another.

With OTEL_DENO=true in the environment, requests, acquires and programs are exported as OpenTelemetry spans to
OTEL_EXPORTER_OTLP_ENDPOINT.

Examples:
  paddock serve
  PADDOCK_TOKEN=$(openssl rand -hex 32) paddock serve --host 0.0.0.0

Exit codes: 0 stopped by Ctrl-C or SIGTERM, 2 wrong usage, 125 the sandbox or the server could not be started.`;

/** Returns the command `serve`, which serves sessions, episodes and grades over HTTP. */
export function serveCommand(): Command {
  return new Command("serve")
    .description("Serve Python sessions, episodes and grades over HTTP")
    .option("--port <n>", "port to listen on; 0 chooses a free one", parseWholeNumber(0), 8471)
    .option("--host <name>", "address to listen on; a non-loopback address needs a token", "127.0.0.1")
    .option("--token <text...>", "accept only requests with one of these tokens")
    .option(
      "--trusted-proxy <address...>",
      "address of a proxy, which may have more connections than a client",
    )
    .addOption(profileOption().default("serve"))
    .addOption(
      new Option("--require-layer <name...>", "do not start without this isolation layer; all for every one")
        .choices(["all", ...LAYERS]),
    )
    .option(
      "--max-sessions <n>",
      "maximum number of sessions (default: 4 per token, at least one per processor, at most 32)",
      parseWholeNumber(1),
    )
    .option(
      "--max-sessions-per-token <n>",
      "maximum number of sessions per token (default: all but the shares of other tokens)",
      parseWholeNumber(1),
    )
    .option("--queue <n>", "maximum number of requests that wait to open a session", parseWholeNumber(0), 256)
    .option(
      "--buffer-memory <MiB>",
      "memory for requests, unread output, envs and kept responses; each token has a share",
      parseWholeNumber(1),
      512,
    )
    .option("--metrics-token <text>", "token that opens /metrics only, with the figures of all tokens")
    .option(
      "--tool <file>",
      "TypeScript file with a tool for envs, run without permissions; repeatable",
      collectValues,
    )
    .addOption(
      new Option("--openenv <kind>", "env for OpenEnv clients; chat needs --tokenizer")
        .choices(["coding", "chat"]).default("coding"),
    )
    .option("--tokenizer <dir>", "folder with tokenizer.json and tokenizer_config.json, for --openenv chat")
    .addHelpText("after", NOTES)
    .action(async (_: object, command: Command) => {
      await runCommand((signal) => runServe(flagsOf(command), signal));
    });
}

async function runServe(flags: ServeFlags, signal: AbortSignal): Promise<number> {
  const { maxSessionsPerToken: maxSessionsEach, queue, metricsToken } = flags;
  const address = resolveServeAddress(flags, currentIo().env.get("PADDOCK_TOKEN"));
  const { maxSessions = defaultSessions(address.tokens.length) } = flags;
  const maxConnections = connectionsOf(maxSessions, await fileLimit());
  const profile = requireLayers(await resolveProfile(flags, signal), flags.requireLayer ?? []);
  const tokenizer = await openEnvTokenizer(flags); // wrong options are an error before interpreters start
  await announceMissingLayers(profile);
  await using stack = new AsyncDisposableStack();
  stack.use(new GarbageCollector());
  const resetMode = address.tokens.length > 1 ? "fresh" as const : "rewind" as const;
  const pool = createLazyPool({ profile, size: maxSessions, resetMode, cacheDir: flags.cacheDir, stack })();
  const paddock = stack.use(
    new PaddockServer({
      ...address,
      pool,
      maxSessions,
      maxSessionsEach,
      queue,
      bufferBytes: flags.bufferMemory * 1024 * 1024,
      metricsToken,
      onError: logError,
      graders: await openServedGraders(flags, { profile, stack }),
      tools: await openToolFiles(flags.tool ?? [], stack),
      openEnvTokenizer: tokenizer,
    }),
  );
  await using lease = await pool.acquire({ signal }); // fails before the address is announced if no sandbox can start
  await lease[Symbol.asyncDispose]();
  await using server = await listen(paddock, address, { ...flags, maxConnections });
  const access = address.tokens.length > 0 ? "token required" : "no token required";
  await writeText(
    currentIo().stderr,
    `Serving at http://${address.name}:${server.port} (${access}); press Ctrl-C to stop\n`,
  );
  await waitForAbort(signal);
  return EXIT.ok;
}

/**
 * Starts the HTTP server.
 *
 * @throws {Error} if it cannot listen. The message names the address.
 */
async function listen(
  paddock: PaddockServer,
  { hostname, name }: ServeAddress,
  { port, trustedProxy: trustedProxies, maxConnections }: ServeFlags & { maxConnections: number },
): Promise<HttpServer> {
  try {
    return await HttpServer.listen(paddock.fetch, {
      hostname,
      port,
      maxConnections,
      trustedProxies,
      onError: logError,
      onGraceOver: () => paddock[Symbol.asyncDispose](),
    });
  } catch (cause) {
    throw new Error(`Cannot serve at http://${name}:${port}: ${listenErrorText(cause)}`, { cause });
  }
}

function listenErrorText(cause: unknown): string {
  const isInUse = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
  if (isInUse) return "the port is in use: give another --port";
  return errorMessage(cause);
}

/**
 * Loads the tokenizer of OpenEnv's chat env. Returns `undefined` for another env.
 *
 * @throws {UsageError} if the tokenizer is missing, invalid or not needed.
 */
async function openEnvTokenizer({ openenv, tokenizer }: ServeFlags): Promise<Tokenizer | undefined> {
  if (openenv === "chat" && tokenizer === undefined) {
    throw new UsageError("Cannot serve OpenEnv's chat env without a tokenizer: give --tokenizer DIR");
  }
  if (openenv === "coding" && tokenizer !== undefined) {
    throw new UsageError("Cannot serve OpenEnv's coding env with a tokenizer: give --openenv chat");
  }
  return await resolveTokenizer(tokenizer);
}

/** Logs an internal error, which clients do not see, to stderr. */
function logError(error: unknown): void {
  const text = error instanceof Error ? error.stack ?? error.message : String(error);
  writeText(currentIo().stderr, `${escapeControls(text)}\n`).catch(() => {}); // stderr is closed
}

/** Sessions of each token by default: half of them are reserved for it, one for a session and one for programs. */
const SESSIONS_PER_TOKEN = 4;
/** Sessions of a server with many tokens by default. */
const MAX_DEFAULT_SESSIONS = 32;

function defaultSessions(tokens: number): number {
  const forTokens = Math.min(SESSIONS_PER_TOKEN * Math.max(1, tokens), MAX_DEFAULT_SESSIONS);
  return Math.max(forTokens, navigator.hardwareConcurrency);
}

/** Open files of a server without sessions and connections, with some that are open for a moment. */
const OWN_FILES = 64;
/** Open files of a session: the pipes of its process, also while another one replaces it. */
const SESSION_FILES = 8;
/** Connections that a server must have room for. */
const MIN_CONNECTIONS = 32;

/**
 * Returns the number of connections for which a process has files beside its sessions. A part remains for connections
 * that are accepted before others can be closed.
 *
 * @throws {Error} if the process may open too few files.
 */
export function connectionsOf(maxSessions: number, openFiles: number): number {
  const own = OWN_FILES + SESSION_FILES * maxSessions;
  if (openFiles >= own + MIN_CONNECTIONS) {
    return Math.min(MAX_CONNECTIONS, Math.floor(0.8 * (openFiles - own)));
  }
  throw new Error(
    `Cannot serve ${maxSessions} sessions as the process must be allowed to open ${
      own + MIN_CONNECTIONS
    } files: ` +
      `the limit is ${openFiles}. Raise it with \`ulimit -n\`, or give a smaller --max-sessions`,
  );
}

/** Returns the number of files that this process may open. Only Linux shows it; elsewhere there is no limit. */
async function fileLimit(): Promise<number> {
  const limits = await Deno.readTextFile("/proc/self/limits").catch(() => "");
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
}

async function waitForAbort(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}

/** Listening address and access rules of a server. */
export interface ServeAddress {
  readonly hostname: string;
  /** Host as written in a URL. */
  readonly name: string;
  readonly tokens: readonly string[];
  /** Accepted values of the `Host` header. @default any */
  readonly hosts?: readonly string[];
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

const MAX_PORT = 65_535;

/** Characters of a token that keep it from being guessed. */
const MIN_TOKEN_CHARACTERS = 16;

/**
 * Returns the address to listen on. On loopback, the server accepts only loopback host names: otherwise any web page
 * could reach it through its own domain name (DNS rebinding). On other addresses a token is required that cannot be
 * guessed.
 *
 * @throws {UsageError} if a non-loopback address has no token or a short one, a token is empty, or the port is too
 * large.
 */
export function resolveServeAddress(
  flags: { host: string; port: number; token?: readonly string[] },
  environment: string | undefined,
): ServeAddress {
  if (flags.port > MAX_PORT) {
    throw new UsageError(
      `Cannot serve as 'port' must be at most ${MAX_PORT}: current value is ${flags.port}`,
    );
  }
  const hostname = flags.host.replace(/^\[(.*)\]$/, "$1");
  const tokens = [...flags.token ?? [], ...environment ? environment.split(",") : []];
  if (tokens.some((token) => token.trim() === "")) {
    throw new UsageError("Cannot serve as tokens must not be empty: one is empty");
  }
  const name = hostname.includes(":") ? `[${hostname}]` : hostname;
  if (isLoopback(hostname)) return { hostname, name, tokens, hosts: [...LOOPBACK_NAMES, name] };
  if (tokens.length === 0) {
    throw new UsageError(
      `Cannot serve at '${flags.host}' as a non-loopback address needs a token: give --token or set PADDOCK_TOKEN. ${MAKE_TOKEN}`,
    );
  }
  const shortest = Math.min(...tokens.map((token) => token.length));
  if (shortest < MIN_TOKEN_CHARACTERS) {
    throw new UsageError(
      `Cannot serve at '${flags.host}' as a token must have at least ${MIN_TOKEN_CHARACTERS} characters on a non-loopback address: one has ${shortest}. ${MAKE_TOKEN}`,
    );
  }
  return { hostname, name, tokens };
}

const MAKE_TOKEN = "`openssl rand -hex 32` prints a new one";

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
