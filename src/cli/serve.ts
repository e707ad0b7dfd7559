import { Command, Option } from "commander";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { errorMessage } from "../errors.ts";
import { HttpServer } from "../server/http/http_server.ts";
import { PaddockServer } from "../server/paddock_server.ts";
import { EXIT, runCommand } from "./command.ts";
import { UsageError } from "./errors.ts";
import { resolveTokenizer } from "./input.ts";
import { currentIo } from "./io.ts";
import { collectValues, parseWholeNumber } from "./options.ts";
import { escapeControls, writeText } from "./output.ts";
import { openServedGraders } from "./rollout/graders.ts";
import { openToolFiles } from "./rollout/tools.ts";
import {
  createLazyPool,
  flagsOf,
  profileOption,
  resolveProfile,
  type SandboxFlags,
} from "./sandbox_options.ts";

interface ServeFlags extends SandboxFlags {
  port: number;
  host: string;
  token?: string[];
  maxSessions: number;
  maxSessionsPerToken?: number;
  queue: number;
  tool?: string[];
  openenv: "coding" | "chat";
  tokenizer?: string;
}

const NOTES = `
Tokens may also stand in $PADDOCK_TOKEN, divided by commas, where no list of processes shows them. Each token
has sessions of its own, and of those who wait the token with the fewest sessions is next. With several of them a
used interpreter is replaced; with one, or none, its heap is put back, which is faster and for those who trust one
another.

With OTEL_DENO=true in the environment, requests, acquires and programs are told to the collector of
OTEL_EXPORTER_OTLP_ENDPOINT as spans of OpenTelemetry.

Examples:
  paddock serve
  PADDOCK_TOKEN=$(openssl rand -hex 32) paddock serve --host 0.0.0.0

Exit codes: 0 stopped by Ctrl-C or SIGTERM, 2 wrong usage, 125 the sandbox or the server could not be started.`;

/** The command `serve`: sessions over HTTP. */
export function serveCommand(): Command {
  return new Command("serve")
    .description("Serve Python sessions over HTTP")
    .option("--port <n>", "where to listen; 0 is any that is free", parseWholeNumber(0), 8471)
    .option("--host <name>", "the address to listen on; others than loopback need a token", "127.0.0.1")
    .option("--token <text...>", "who asks must have one of these")
    .addOption(profileOption().default("serve"))
    .option(
      "--max-sessions <n>",
      "sessions at once",
      parseWholeNumber(1),
      Math.max(4, navigator.hardwareConcurrency),
    )
    .option(
      "--max-sessions-per-token <n>",
      "of these at once for one token (default: all)",
      parseWholeNumber(1),
    )
    .option("--queue <n>", "requests that may wait for a session", parseWholeNumber(0), 256)
    .option(
      "--tool <file>",
      "a TypeScript file that envs may call, and that may reach nothing; repeatable",
      collectValues,
    )
    .addOption(
      new Option("--openenv <kind>", "what OpenEnv's clients are served; chat needs --tokenizer")
        .choices(["coding", "chat"]).default("coding"),
    )
    .option("--tokenizer <dir>", "a folder with tokenizer.json and tokenizer_config.json")
    .addHelpText("after", NOTES)
    .action(async (_: object, command: Command) => {
      await runCommand((signal) => runServe(flagsOf(command), signal));
    });
}

async function runServe(flags: ServeFlags, signal: AbortSignal): Promise<number> {
  const { maxSessions, maxSessionsPerToken: maxSessionsEach, queue } = flags;
  const address = resolveServeAddress(flags, currentIo().env.get("PADDOCK_TOKEN"));
  const profile = await resolveProfile(flags);
  await using stack = new AsyncDisposableStack();
  const resetMode = address.tokens.length > 1 ? "fresh" as const : "rewind" as const;
  const pool = createLazyPool({ profile, size: maxSessions, resetMode, cacheDir: flags.cacheDir, stack })();
  const paddock = stack.use(
    new PaddockServer({
      ...address,
      pool,
      maxSessions,
      maxSessionsEach,
      queue,
      onError: report,
      graders: await openServedGraders(flags, { profile, stack }),
      tools: await openToolFiles(flags.tool ?? [], stack),
      openEnvTokenizer: await openEnvTokenizer(flags),
    }),
  );
  await using _first = await pool.acquire({ signal }); // nobody is told of a server that cannot serve
  await _first[Symbol.asyncDispose]();
  await using server = listening(paddock, address, flags.port);
  const guard = address.tokens.length > 0 ? "a token is needed" : "no token is needed";
  await writeText(
    currentIo().stderr,
    `Serving at http://${address.name}:${server.port} (${guard}); Ctrl-C stops\n`,
  );
  await aborted(signal);
  return EXIT.ok;
}

/** @throws {Error} that says where it was to listen, when it cannot. */
function listening(paddock: PaddockServer, { hostname, name }: ServeAddress, port: number): HttpServer {
  try {
    return new HttpServer(paddock.fetch, {
      hostname,
      port,
      onError: report,
      onGraceOver: () => paddock[Symbol.asyncDispose](),
    });
  } catch (cause) {
    throw new Error(`Cannot serve at http://${name}:${port}: ${listenErrorText(cause)}`, { cause });
  }
}

function listenErrorText(cause: unknown): string {
  if (cause instanceof Deno.errors.AddrInUse) return "somebody else listens there: give another --port";
  return errorMessage(cause);
}

/**
 * The tokenizer of OpenEnv's chat env, where that is what is served.
 *
 * @throws {UsageError} when one is missing, or is given for nothing.
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

/** Tells whoever runs the server what its users are not told. */
function report(error: unknown): void {
  const text = error instanceof Error ? error.stack ?? error.message : String(error);
  writeText(currentIo().stderr, `${escapeControls(text)}\n`).catch(() => {}); // nobody reads it
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}

/** Where a server listens and who may ask. */
export interface ServeAddress {
  readonly hostname: string;
  /** The host as it stands in a URL. */
  readonly name: string;
  readonly tokens: readonly string[];
  /** The names that requests may call it by; any when there are none. */
  readonly hosts?: readonly string[];
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

const MAX_PORT = 65_535;

/**
 * Reads where to listen. On the loopback the server answers to loopback names alone, as a page of a stranger's
 * could else reach it by a name of its own; elsewhere the token decides.
 *
 * @throws {UsageError} when it is to be reached from outside without a token, a token is empty, or there is no such port.
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
  if (tokens.some((token) => token.trim() === "")) throw new UsageError("Cannot serve as a token is empty");
  const name = hostname.includes(":") ? `[${hostname}]` : hostname;
  if (isLoopback(hostname)) return { hostname, name, tokens, hosts: [...LOOPBACK_NAMES, name] };
  if (tokens.length > 0) return { hostname, name, tokens };
  throw new UsageError(
    `Cannot serve at '${flags.host}' as an address that is no loopback needs a token: give --token or set PADDOCK_TOKEN`,
  );
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
