import { type Command, Option } from "commander";
import { abortable } from "../../async/abort.ts";
import { SandboxError } from "../../errors.ts";
import { NatsPeer, type PeerOptions } from "../../cluster/nats/nats_peer.ts";
import { shareImage } from "../../cluster/shared_image.ts";
import { ClusterNode } from "../../cluster/node/cluster_node.ts";
import { ClusterMetrics } from "../../cluster/cluster_metrics.ts";
import { ClusterSessions } from "../../cluster/cluster_sessions.ts";
import type { CheckpointOrigin } from "../../sandbox/checkpoint/checkpoint.ts";
import type { BranchingPool } from "../../sandbox/contract/pool.ts";
import type { Profile } from "../../sandbox/profile/profile.ts";
import { SESSION_WAIT_MS } from "../../server/limits.ts";
import { addNatsOptions, type NatsFlags, readKeyFile, toPeerOptions } from "../cluster/nats_options.ts";
import { currentIo } from "../io.ts";
import { parseWholeNumber } from "../options.ts";
import { writeText } from "../output.ts";
import { announceBuild, cacheDirectory, createLazyPool } from "../sandbox_options.ts";
import { logError } from "./listening.ts";

/** Options of a server that is part of a cluster. */
export interface ClusterFlags extends NatsFlags {
  /** Address of NATS, for a node. */
  nats?: string;
  /** Address of NATS, for a gateway. */
  cluster?: string;
  drain: number;
  checkpointKeyFile?: string;
  /** MiB. */
  checkpointMemory: number;
}

/** Source of the sessions of a server. */
export interface SessionSource {
  readonly pool: BranchingPool;
  /** Number of sessions. */
  readonly sessions: number;
  /** Returns the origin to which checkpoints of the sessions are bound, if the sessions belong to this process. */
  readonly checkpointOrigin?: () => Promise<CheckpointOrigin>;
  /** Takes no new sessions of the cluster, and waits for the present sessions. */
  readonly drain: () => Promise<void>;
  /** Returns the metrics of the cluster. */
  readonly formatClusterMetrics?: () => string;
}

/** Options of {@linkcode openSessionSource}. */
export interface SessionSourceOptions {
  readonly profile: Profile;
  /** Number of sessions of this process. */
  readonly size: number;
  /** Number of further interpreters that are kept ready. */
  readonly spare: number;
  /** Number of interpreters that are started for further tokens. */
  readonly keep: number;
  readonly resetMode: "rewind" | "owner";
  readonly cacheDir?: string | undefined;
  readonly stack: AsyncDisposableStack;
  /** Stops the attempt to join a cluster. */
  readonly signal: AbortSignal;
}

const MIB = 1024 * 1024;
/** Sessions of a gateway whose cluster has no node yet. */
const GATEWAY_SESSIONS = 64;

/** Adds the options of nodes and gateways. */
export function addClusterOptions(command: Command): Command {
  addNatsOptions(
    command
      .addOption(
        new Option("--nats <url>", "be a node: run sessions for the cluster at this NATS").conflicts(
          "cluster",
        ),
      )
      .option("--cluster <url>", "be a gateway: run programs on the nodes of the cluster at this NATS"),
  );
  return command
    .option(
      "--drain <seconds>",
      "time for sessions of the cluster to end after SIGTERM",
      parseWholeNumber(0),
      30,
    )
    .option(
      "--checkpoint-key-file <file>",
      "key of checkpoints, of at least 32 bytes; nodes of a cluster share one (default: one in the cache folder)",
    );
}

/**
 * Opens the sessions of a server: own sessions, which a node also offers to the cluster, or sessions of a cluster.
 *
 * @throws {UsageError} if an option is wrong.
 * @throws {SandboxError} if the cluster cannot be joined.
 */
export async function openSessionSource(
  flags: ClusterFlags,
  options: SessionSourceOptions,
): Promise<SessionSource> {
  if (flags.cluster !== undefined) return await openGateway(flags.cluster, flags, options);
  const { profile, size, resetMode, stack, signal } = options;
  const checkpointKey = await readKeyFile(flags.checkpointKeyFile, "checkpoints");
  const peer = flags.nats === undefined ? undefined : await toPeerOptions(flags.nats, flags);
  const cacheDir = peer && checkpointKey
    ? await useSharedImage(peer, { ...options, key: checkpointKey })
    : options.cacheDir;
  const pool = createLazyPool({ ...options, cacheDir, checkpointKey })();
  const checkpointOrigin = () => pool.checkpointOrigin();
  if (peer === undefined) return { pool, sessions: size, checkpointOrigin, drain: () => Promise.resolve() };
  const starting = ClusterNode.start({
    ...peer,
    pool,
    profile,
    slots: size,
    rewinds: resetMode === "rewind",
    drainMs: 1000 * flags.drain,
    checkpointBytes: flags.checkpointMemory * MIB,
    onError: logError,
  });
  const node = stack.use(await abortable(starting, signal));
  await writeText(
    currentIo().stderr,
    `Node ${node.id} of cluster '${peer.cluster}' offers ${size} sessions of profile '${node.properties.profile.name}'\n`,
  );
  return { pool: node.localPool, sessions: size, checkpointOrigin, drain: () => node.drain() };
}

/**
 * Returns the cache folder of the base image that all nodes use. Without this image, sessions cannot move between hosts.
 */
async function useSharedImage(
  options: PeerOptions,
  { profile, cacheDir, key, signal }: SessionSourceOptions & { key: Uint8Array },
): Promise<string | undefined> {
  await using peer = await abortable(NatsPeer.connect(options, "paddock image"), signal);
  try {
    return await shareImage(peer, {
      profile,
      cacheDir: cacheDirectory(cacheDir),
      key,
      onBuild: announceBuild,
    });
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    logError(error); // programs run with an own image, too
    return cacheDir;
  }
}

async function openGateway(
  servers: string,
  flags: ClusterFlags,
  { profile, stack, signal }: SessionSourceOptions,
): Promise<SessionSource> {
  const peer = await toPeerOptions(servers, flags);
  const joining = ClusterSessions.connect({ ...peer, profile: profile.name, waitMs: SESSION_WAIT_MS });
  const pool = stack.use(await abortable(joining, signal));
  const { nodes, slots } = pool;
  await writeText(
    currentIo().stderr,
    `Gateway of cluster '${peer.cluster}': ${nodes.length} nodes have ${slots} sessions of profile '${profile.name}'${
      nodes.length === 0 ? pool.caller.peer.keyAdvice : ""
    }\n`,
  );
  const metrics = new ClusterMetrics(pool.caller);
  return {
    pool,
    sessions: slots || GATEWAY_SESSIONS,
    drain: () => Promise.resolve(),
    formatClusterMetrics: () => metrics.format(),
  };
}
