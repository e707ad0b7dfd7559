import type { Command } from "commander";
import type { Profile } from "../../sandbox/profile/profile.ts";
import { baseImageName } from "../../sandbox/image/base_image.ts";
import { sha256 } from "../../hash.ts";
import { pinImage } from "../../sandbox/image/image_pins.ts";
import { StateDirectory, type StateDirectoryOptions } from "../../server/hibernation/state_directory.ts";
import { StateDirectoryError } from "../../server/hibernation/state_folder.ts";
import { countSessions } from "../../server/hibernation/saved_sessions.ts";
import { formatSuspendReport, type SuspendReport } from "../../server/hibernation/suspend_report.ts";
import type { HibernationLimits } from "../../server/hibernation/hibernation_limits.ts";
import { UnavailableError, UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";
import { parseWholeNumber } from "../options.ts";
import { toSinkText, writeText } from "../output.ts";
import { cacheDirectory } from "../sandbox_options.ts";
import type { SessionSource } from "./cluster.ts";
import { logError } from "./listening.ts";

/** Options of sessions that hibernate. */
export interface HibernationFlags {
  /** Seconds. */
  hibernateAfter: number;
  /** MiB; with 0, sessions keep their interpreters. */
  hibernateMemory: number;
  stateDir?: string;
  /** MiB. */
  stateDisk: number;
  /** Address of NATS, for a gateway. */
  cluster?: string;
  cacheDir?: string;
}

const MIB = 1024 * 1024;

/** Adds the options of sessions that hibernate. */
export function addHibernationOptions(command: Command): Command {
  return command
    .option(
      "--hibernate-after <seconds>",
      "idle time after which a session gives its interpreter back until it is used again",
      parseWholeNumber(1),
      60,
    )
    .option(
      "--hibernate-memory <MiB>",
      "memory for sessions that hibernate; 0 lets every session keep its interpreter",
      parseWholeNumber(0),
      512,
    )
    .option(
      "--state-dir <dir>",
      "folder for sessions that hibernate, with which a later server continues them, and all sessions when this one stops",
    )
    .option("--state-disk <MiB>", "maximum size of the sessions in --state-dir", parseWholeNumber(1), 4096);
}

/** @throws {UsageError} if options exclude each other. */
export function checkHibernation({ hibernateMemory, stateDir, cluster }: HibernationFlags): void {
  if (stateDir === undefined) return;
  if (stateDir === "") throw new UsageError("Cannot use --state-dir as it must name a folder: it is empty");
  if (cluster !== undefined) {
    throw new UsageError("Cannot use --state-dir with --cluster: the nodes of the cluster have the sessions");
  }
  if (hibernateMemory === 0) {
    throw new UsageError(
      "Cannot use --state-dir with --hibernate-memory 0: sessions must hibernate to be saved",
    );
  }
}

/**
 * Opens the parts with which sessions hibernate. Returns `undefined` if they keep their interpreters.
 *
 * @param parts.tokens tokens of the server, whose sessions continue
 * @throws {UsageError} if the state directory cannot be used.
 * @throws {UnavailableError} if another server uses the state directory.
 */
export async function openHibernation(
  flags: HibernationFlags,
  { source, profile, tokens, stack }: {
    source: SessionSource;
    profile: Profile;
    tokens: readonly string[];
    stack: AsyncDisposableStack;
  },
): Promise<HibernationLimits | undefined> {
  const { hibernateAfter, hibernateMemory, stateDir, stateDisk, cluster } = flags;
  if (cluster !== undefined || hibernateMemory === 0) return undefined;
  const limits = { afterMs: 1000 * hibernateAfter, bytes: hibernateMemory * MIB };
  if (stateDir === undefined) return limits;
  const onWarning = (message: string) => void print(`Warning: ${message}`);
  const owners = new Set(tokens.length > 0 ? await Promise.all(tokens.map(sha256)) : [""]);
  const origin = await source.checkpointOrigin?.();
  const directory = stack.use(
    await openStateDirectory(stateDir, {
      owners,
      origin,
      profile: profile.name,
      onWarning,
      onError: logError,
    }),
  );
  await pinImage(cacheDirectory(flags.cacheDir), await baseImageName(profile), stateDir);
  const { length } = directory.sessions.filter(({ unusable }) => unusable === undefined);
  if (length > 0) {
    await print(`${countSessions(length)} ${length === 1 ? "continues" : "continue"} from ${stateDir}`);
  }
  return { ...limits, directory, directoryBytes: stateDisk * MIB };
}

async function openStateDirectory(path: string, options: StateDirectoryOptions): Promise<StateDirectory> {
  try {
    return await StateDirectory.open(path, options);
  } catch (cause) {
    if (!(cause instanceof StateDirectoryError)) throw cause;
    const { code, message } = cause;
    throw new (code === "in_use" ? UnavailableError : UsageError)(message, { cause });
  }
}

/** Prints that a stopping server will save sessions, which takes up to half a minute. */
export async function announceSuspend(stateDir: string | undefined): Promise<void> {
  if (stateDir === undefined) return;
  const line = `Stopping: sessions are saved in ${stateDir}; a second Ctrl-C loses them`;
  await print(line).catch(() => {}); // stderr is closed: they are saved nevertheless
}

/** Prints what a server that stops has saved. */
export async function reportSuspended(
  stateDir: string | undefined,
  report: SuspendReport,
): Promise<void> {
  if (stateDir === undefined || report.saved + report.kept + report.lost === 0) return;
  await print(formatSuspendReport(report, stateDir)).catch(() => {}); // stderr is closed
}

async function print(line: string): Promise<void> {
  const { stderr } = currentIo();
  await writeText(stderr, toSinkText(stderr, `${line}\n`));
}
