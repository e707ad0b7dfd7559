import { Command, Option } from "commander";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { GarbageCollector } from "../server/garbage.ts";
import { PaddockServer, partsOf } from "../server/paddock_server.ts";
import { EXIT, runCommand } from "./run_command.ts";
import { applyConfig, configOption } from "./config/config_file.ts";
import { UsageError } from "./cli_errors.ts";
import { resolveTokenizer } from "./input.ts";
import { currentIo } from "./io.ts";
import { collectValues, parseWholeNumber } from "./options.ts";
import { escapeControls } from "../terminal_text.ts";
import { writeText } from "./output.ts";
import { resolveServeAddress } from "./serve/address.ts";
import { openServedGraders } from "./rollout/graders.ts";
import { pythonProfileOption } from "./rollout/python_files.ts";
import { openToolFiles } from "./rollout/tools.ts";
import { addGatewayOptions, type ServedGatewayFlags, withGateway } from "./gateway/served_gateway.ts";
import { checkOrigins, openAccessLog } from "./serve/access.ts";
import {
  connectionsOf,
  defaultSessions,
  fileLimit,
  hostMemory,
  keptInterpreters,
  SPARE_SESSIONS,
} from "./serve/capacity.ts";
import { addClusterOptions, type ClusterFlags, openSessionSource } from "./serve/cluster.ts";
import {
  addHibernationOptions,
  announceSuspend,
  checkHibernation,
  type HibernationFlags,
  openHibernation,
  reportSuspended,
} from "./serve/hibernation.ts";
import { LOG_LEVELS, type LogLevel, openEventLog } from "./serve/event_log.ts";
import { listen, logError, stdinEnd, tryPool, waitForAbort } from "./serve/listening.ts";
import { addRolloutOptions, openRollouts, openRuns, type ServeRolloutFlags } from "./serve/rollouts.ts";
import { formatStartReport } from "./serve/start_report.ts";
import { type TokenFlags, withTokenFiles } from "./serve/token_files.ts";
import { detectLayers, layerStates } from "../sandbox/process/layers.ts";
import { type Layer, LAYERS } from "../sandbox/profile/schema.ts";
import {
  announceMissingLayers,
  clockOption,
  flagsOf,
  profileOption,
  requireLayers,
  resolveProfile,
  type SandboxFlags,
} from "./sandbox_options.ts";
import { timeScaleOption, withTimeScale } from "./time_scale.ts";

interface ServeFlags
  extends SandboxFlags, TokenFlags, ServeRolloutFlags, ServedGatewayFlags, ClusterFlags, HibernationFlags {
  port: number;
  host: string;
  trustedProxy?: string[];
  corsOrigin?: string[];
  accessLog?: string;
  logLevel: LogLevel;
  untilStdinEnds?: true;
  maxSessions?: number;
  maxSessionsPerToken?: number;
  queue: number;
  bufferMemory: number;
  checkpointMemory: number;
  mcpCheckpoints?: true;
  tool?: string[];
  pythonProfile?: string;
  requireLayer?: (Layer | "all")[];
  openenv: "coding" | "chat" | "repl";
  tokenizer?: string;
  /** Value of `--time-scale`. */
  timeScale?: string;
}

const MIB = 1024 * 1024;

const NOTES = `
Tokens can also be in a file (--token-file) or in $PADDOCK_TOKEN, separated by commas; process lists do not show
them there. Each token
has its own sessions. When requests wait, the token with the fewest sessions is served next. With several tokens, a
used interpreter is replaced by a fresh one. With one token or none, it is rewound: this is faster, but only for
users who trust one another.

With OTEL_DENO=true in the environment, requests, acquires and programs are exported as OpenTelemetry spans to
OTEL_EXPORTER_OTLP_ENDPOINT.

Examples:
  paddock serve
  PADDOCK_TOKEN=$(openssl rand -hex 32) paddock serve --host 0.0.0.0

Exit codes: 0 stopped by Ctrl-C, SIGTERM or the end of npx (npx itself then ends with 130), 2 wrong usage,
69 the port or the state directory is in use, 74 sessions were lost as they could not be saved, 125 the sandbox or
the server could not be started.`;

/** Returns the command `serve`, which serves sessions, episodes and grades over HTTP. */
export function serveCommand(): Command {
  const limits = new Command("serve")
    .description("Serve Python sessions, episodes and grades over HTTP")
    .optionsGroup("Address and access:")
    .option("--port <n>", "port to listen on; 0 chooses a free one", parseWholeNumber(0), 8471)
    .option("--host <name>", "address to listen on; a non-loopback address needs a token", "127.0.0.1")
    .option("--token <text...>", "accept only requests with one of these tokens, of at least 16 characters")
    .option("--token-file <file>", "file with further tokens, one per line")
    .option(
      "--trusted-proxy <address...>",
      "address of a proxy, which may have more connections than a client",
    )
    .option(
      "--cors-origin <origin>",
      "accept requests of pages of this origin; * for every one; repeatable",
      collectValues,
    )
    .addOption(
      new Option(
        "--log-level <level>",
        "what is logged on stderr: errors; also lost interpreters; also sessions and refused requests",
      ).choices(LOG_LEVELS).default("warn"),
    )
    .option("--access-log <file>", "append a line of JSON for each request to a file; - for stderr")
    .option("--until-stdin-ends", "stop when stdin ends, and so with the process that started the server")
    .optionsGroup("Sandbox:")
    .addOption(profileOption().default("serve"))
    .addOption(clockOption())
    .addOption(timeScaleOption().conflicts(["cluster", "nats"]))
    .addOption(
      new Option("--require-layer <name...>", "do not start without this isolation layer; all for every one")
        .choices(["all", ...LAYERS]),
    )
    .optionsGroup("Limits:")
    .option(
      "--max-sessions <n>",
      "maximum number of sessions that do not hibernate (default: 4 per token, at least one per processor, at most 32)",
      parseWholeNumber(1),
    )
    .option(
      "--max-sessions-per-token <n>",
      "maximum number of these sessions per token (default: all but the shares of other tokens)",
      parseWholeNumber(1),
    )
    .option("--queue <n>", "maximum number of requests that wait to open a session", parseWholeNumber(0), 256)
    .option(
      "--buffer-memory <MiB>",
      "memory for requests, unread output, envs and kept responses; each token has a share",
      parseWholeNumber(1),
      512,
    )
    .option(
      "--checkpoint-memory <MiB>",
      "memory for the checkpoints that clients or sessions of a cluster keep; each token has a share",
      parseWholeNumber(1),
      1024,
    )
    .optionsGroup("Sessions that hibernate:");
  const command = addHibernationOptions(limits)
    .optionsGroup("Access to metrics:")
    .addOption(
      new Option("--metrics-token <text>", "token that opens /metrics only, with the figures of all tokens")
        .conflicts("metricsTokenFile"),
    )
    .option("--metrics-token-file <file>", "file with the token of --metrics-token")
    .optionsGroup("Envs and tools:")
    .option(
      "--tool <file>",
      "TypeScript or Python file with tools for envs, run without permissions; repeatable",
      collectValues,
    )
    .addOption(pythonProfileOption())
    .option("--mcp-checkpoints", "give clients of MCP the tools checkpoint and restore")
    .addOption(
      new Option("--openenv <kind>", "env for OpenEnv clients; chat needs --tokenizer")
        .choices(["coding", "chat", "repl"]).default("coding"),
    )
    .option("--tokenizer <dir>", "folder with tokenizer.json and tokenizer_config.json, for --openenv chat")
    .optionsGroup("Rollouts of clients:");
  return addClusterOptions(addGatewayOptions(addRolloutOptions(command)).optionsGroup("Cluster:"))
    .optionsGroup("Options:")
    .addOption(configOption())
    .addHelpText("after", NOTES)
    .action(async (_: object, command: Command) => {
      await runCommand(async (signal) => {
        await applyConfig(command);
        return await runServe(await withTokenFiles(flagsOf(command)), signal);
      });
    });
}

async function runServe(flags: ServeFlags, interrupt: AbortSignal): Promise<number> {
  const signal = flags.untilStdinEnds ? AbortSignal.any([interrupt, stdinEnd()]) : interrupt;
  const { maxSessionsPerToken, queue, metricsToken } = flags;
  checkHibernation(flags);
  const corsOrigins = checkOrigins(flags.corsOrigin ?? []);
  const address = resolveServeAddress(flags, currentIo().env.get("PADDOCK_TOKEN"));
  const tokens = address.tokens.length;
  const { maxSessions = defaultSessions(tokens) } = flags;
  const keep = keptInterpreters({ tokens, maxSessions, memoryBytes: await hostMemory() });
  const maxConnections = connectionsOf(maxSessions + keep, await fileLimit());
  const loaded = requireLayers(await resolveProfile(flags, signal), flags.requireLayer ?? []);
  const profile = await withTimeScale(loaded, { ...flags, signal });
  const rollouts = await openRollouts(flags);
  const runs = await openRuns(flags, { tokens: address.tokens, rollouts, signal });
  const tokenizer = await openEnvTokenizer(flags); // wrong options are an error before interpreters start
  await announceMissingLayers(profile);
  await using stack = new AsyncDisposableStack();
  const collector = stack.use(new GarbageCollector());
  const log = await openAccessLog(flags.accessLog, { stack, onError: logError });
  const resetMode = tokens > 1 ? "owner" as const : "rewind" as const;
  const source = await openSessionSource(flags, {
    profile,
    size: maxSessions,
    spare: SPARE_SESSIONS,
    keep,
    resetMode,
    cacheDir: flags.cacheDir,
    stack,
    signal,
  });
  const { pool, drain } = source;
  const hibernation = await openHibernation(flags, { source, profile, tokens: address.tokens, stack });
  const toolReset = tokens > 1 ? "fresh" as const : "rewind" as const; // no client reads traces of another client
  const owner = { size: flags.maxSessions ?? source.sessions, resetMode: toolReset, stack, signal };
  const { tools, ofPython: toolFiles } = await openToolFiles(flags.tool ?? [], { flags, owner });
  const graders = await openServedGraders(flags, { profile, stack });
  const paddock = stack.use(
    new PaddockServer({
      tokens: address.tokens,
      hosts: address.hosts,
      pool,
      maxSessions: flags.maxSessions ?? source.sessions,
      maxSessionsPerToken,
      queue,
      bufferBytes: flags.bufferMemory * MIB,
      checkpointBytes: flags.checkpointMemory * MIB,
      hibernation,
      mcpCheckpoints: flags.mcpCheckpoints,
      metricsToken,
      formatClusterMetrics: source.formatClusterMetrics,
      corsOrigins,
      onRequest: log && ((record) => log.write(record)),
      onEvent: openEventLog(flags.logLevel, stack),
      onError: logError,
      graders,
      tools,
      toolFiles,
      openEnvTokenizer: tokenizer,
      openEnv: flags.openenv === "repl" ? "repl" : "coding",
      rollouts,
      runs,
    }),
  );
  collector.leaveOut(() => paddock.stateBytes);
  if (flags.cluster === undefined) await tryPool(pool, signal);
  const { sandboxes: service, metrics } = partsOf(paddock);
  const sandboxes = { service, profile: flags.profile };
  const handler = await withGateway(paddock.fetch, flags, {
    address,
    stack,
    sandboxes,
    metrics,
    graders,
    profile,
    signal,
  });
  await using server = await listen(handler, { ...address, port: flags.port }, {
    maxConnections,
    trustedProxies: flags.trustedProxy,
    onGraceOver: () => paddock[Symbol.asyncDispose](),
  });
  const access = address.tokens.length > 0 ? "token required" : "no token required";
  const url = `http://${address.name}:${server.port}`;
  const report = formatStartReport({
    profile,
    layers: layerStates(profile, await detectLayers()),
    maxSessions: flags.maxSessions ?? source.sessions,
    queue,
    maxConnections,
    tokens: address.tokens.length,
    resetMode,
    hibernateAfter: hibernation && flags.hibernateAfter,
    stateDir: flags.stateDir,
    runs: flags.runs,
    url,
  });
  await writeText(
    currentIo().stderr,
    `${escapeControls(report)}Serving at ${url} (${access}); press Ctrl-C to stop\n`,
  );
  await waitForAbort(signal);
  await announceSuspend(flags.stateDir);
  await drain();
  await server[Symbol.asyncDispose]();
  const suspended = await paddock.suspend();
  await reportSuspended(flags.stateDir, suspended);
  return suspended.lost > 0 ? EXIT.unwritten : EXIT.ok;
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
  if (openenv !== "chat" && tokenizer !== undefined) {
    throw new UsageError(`Cannot serve OpenEnv's ${openenv} env with a tokenizer: give --openenv chat`);
  }
  return await resolveTokenizer(tokenizer);
}
