import type { HonestKind } from "./honest_requests.ts";
import type { ProcessMemory } from "./memory_watch.ts";
import type { Tally, Tenant } from "./tenant.ts";

/** What a hostile client has to attack with. */
export interface Attack {
  readonly hostile: Tenant;
  /** Clients with further tokens: see {@linkcode ServerCase} `furtherTokens`. */
  readonly others: readonly Tenant[];
  /** Path of the honest tenant's session, which the hostile one must not reach. */
  readonly honestSession: string;
  /** A client with the honest tenant's token, for checks that it is not locked out. */
  readonly honest: Tenant;
  /** Returns the number of open files of the server. */
  readonly openFiles: () => Promise<number>;
  /** Counts the responses. */
  readonly tally: Tally;
  /** Aborts when the time of the case is over. */
  readonly signal: AbortSignal;
  /** Reports a wrong response that needs no measurement. */
  readonly breach: (text: string) => void;
}

/** Kind of honest requests whose load resembles that of a case. */
export type TwinLoad = "requests" | "bodies" | "programs";

/** A case that attacks a server. */
export interface ServerCase {
  readonly name: string;
  /** Fault of the review that it repeats, or the rule that it tests. */
  readonly fault: string;
  readonly about: string;
  /** The honest load to compare with when another tenant waits long. @default "requests" */
  readonly twin?: TwinLoad;
  /** File descriptors of the server. @default the system's limit */
  readonly descriptors?: number;
  /** Options of `paddock serve`. @default the shipped defaults */
  readonly args?: readonly string[];
  /** Number of tokens beside those of the hostile and the honest tenant. @default 0 */
  readonly furtherTokens?: number;
  /** Requests of the honest tenant. @default all that watch a server */
  readonly watch?: readonly HonestKind[];
  /** Minimum time of the case, in milliseconds. @default 0 */
  readonly minMs?: number;
  /** Memory that the server keeps after the case by its configuration, in bytes. @default 0 */
  readonly permittedBytes?: number;
  /** Memory of checkpoints that it takes at its peak by its configuration, in bytes. @default 0 */
  readonly permittedPeakBytes?: number;
  /** Makes what is sent, before the time of the case begins. */
  readonly prepare?: () => void;
  /** Attacks until the signal aborts, or returns when there is nothing more to send. */
  readonly play: (attack: Attack) => Promise<void>;
}

/** The command line to run in a {@linkcode CommandCase}. */
export interface CommandRun {
  readonly args: readonly string[];
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Returns what is wrong with the result of a run, if anything. */
  readonly check?: (result: CommandResult) => string | undefined | Promise<string | undefined>;
}

/** Result of a command. */
export interface CommandResult {
  /** `undefined` if it was killed. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where a {@linkcode CommandCase} prepares its files and peers. */
export interface CommandSetup {
  readonly folder: string;
  /** False for the run to compare with, whose peer or file is an ordinary one. */
  readonly isLying: boolean;
  /** Root of the tree under test. */
  readonly root: string;
  /** Disposes what a case has started. */
  readonly stack: AsyncDisposableStack;
}

/** A case in which a file, model server or MCP server lies to the command line. */
export interface CommandCase {
  readonly name: string;
  readonly fault: string;
  readonly about: string;
  /** Time that the limits of a reply, tool call or program permit, in milliseconds. @default 0 */
  readonly permittedMs?: number;
  readonly prepare: (setup: CommandSetup) => Promise<CommandRun>;
}

/** Measurements of a case. */
export interface Measured {
  /** Peak memory of the host process beyond its idle memory, in bytes. */
  readonly hostBytes: number;
  /** The same with all sandboxes. */
  readonly treeBytes: number;
  /** Memory of the host process after the case beyond its idle memory and what the case permits, in bytes. */
  readonly keptBytes: number;
  /** Longest wait of another tenant, or the time of the command, in milliseconds. */
  readonly waitMs: number;
  /** Longest wait before the case, or time of the command with an honest peer, in milliseconds. */
  readonly quietMs: number;
  /** Longest wait beside an honest load of the same kind, in milliseconds. Measured if the wait exceeds its bound. */
  readonly twinMs?: number | undefined;
  /** Kind of request that waited longest. */
  readonly waited: string;
  /** Responses to the hostile requests. */
  readonly outcome: string;
  /** Wrong states and responses. */
  readonly breaches: readonly string[];
}

/** Result of a case. */
export interface CaseResult extends Measured {
  readonly name: string;
  readonly fault: string;
  /** Names of the bounds that are missed, empty if the case holds. */
  readonly missed: readonly string[];
}

/** Bounds of a case. */
export interface Bounds {
  /** Additional wait, in milliseconds. */
  readonly waitMs: number;
  /** Wait divided by that beside an honest load. Either this or `waitMs` must hold. */
  readonly ratio: number;
  /** Memory of the host process beyond its idle memory, in bytes. */
  readonly hostBytes: number;
  /** Memory that may remain after a case, in bytes. */
  readonly keptBytes: number;
}

const MIB = 1024 * 1024;
/** Bytes that the server may hold for all requests by its default configuration. */
const CONFIGURED_BYTES = 512 * MIB;
const BEYOND_BYTES = 256 * MIB;

/** Bounds of a server. */
export const SERVER_BOUNDS: Bounds = {
  waitMs: 500,
  ratio: 3,
  hostBytes: CONFIGURED_BYTES + BEYOND_BYTES,
  keptBytes: BEYOND_BYTES,
};

/** Bounds of a command. It reads its whole input, and holds no more than one file or response of 32 MiB. */
export const COMMAND_BOUNDS: Bounds = { ...SERVER_BOUNDS, hostBytes: BEYOND_BYTES };

/** True if the wait exceeds its absolute bound, so that the ratio decides. */
export function waitsTooLong(
  { waitMs, quietMs }: Pick<Measured, "waitMs" | "quietMs">,
  bounds: Bounds,
): boolean {
  return waitMs - quietMs > bounds.waitMs;
}

/** Returns the names of the bounds that a case misses. */
export function missedBounds(measured: Measured, bounds: Bounds): string[] {
  const { waitMs, twinMs, hostBytes, keptBytes, breaches } = measured;
  const isSlow = waitsTooLong(measured, bounds) && !(twinMs !== undefined && waitMs <= bounds.ratio * twinMs);
  return [
    ...isSlow ? ["wait"] : [],
    ...hostBytes > bounds.hostBytes ? ["memory"] : [],
    ...keptBytes > bounds.keptBytes ? ["kept memory"] : [],
    ...breaches.length > 0 ? ["state"] : [],
  ];
}

/** Returns the memory of `later` beyond `earlier`, at least 0. */
export function growth(later: ProcessMemory, earlier: ProcessMemory): ProcessMemory {
  return { host: Math.max(0, later.host - earlier.host), tree: Math.max(0, later.tree - earlier.tree) };
}

const HEAD = ["case", "fault", "memory", "all", "kept", "wait", "quiet", "ratio", "verdict", "outcome"];

/** Formats results as a Markdown table, which a terminal shows in columns. */
export function formatCases(results: readonly CaseResult[]): string {
  return formatTable([HEAD, ...results.map(cells)]);
}

const COMPARED = ["case", "fault", "memory before", "wait before", "before", "memory", "wait", "now"];

/** Formats results beside those of another tree, as a Markdown table. */
export function formatComparison(before: readonly CaseResult[], now: readonly CaseResult[]): string {
  const earlier = new Map(before.map((result) => [result.name, figures(result)]));
  const rows = now.map((result) => [
    result.name,
    result.fault,
    ...earlier.get(result.name) ?? ["", "", ""],
    ...figures(result),
  ]);
  return formatTable([COMPARED, ...rows]);
}

function figures({ hostBytes, waitMs, twinMs, missed }: CaseResult): string[] {
  const ratio = twinMs === undefined ? "" : ` (${(waitMs / twinMs).toFixed(1)} ×)`;
  return [megabytes(hostBytes), `${seconds(waitMs)}${ratio}`, missed.join(", ") || "ok"];
}

function formatTable(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => [...row[column] ?? ""].length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [line(head), rule, ...body.map(line)].join("\n");
}

function cells(result: CaseResult): string[] {
  const { hostBytes, treeBytes, keptBytes, waitMs, quietMs, twinMs, waited, missed, breaches, outcome } =
    result;
  return [
    result.name,
    result.fault,
    megabytes(hostBytes),
    megabytes(treeBytes),
    megabytes(keptBytes),
    `${seconds(waitMs)}${waited === "" ? "" : ` ${waited}`}`,
    seconds(quietMs),
    twinMs === undefined ? "" : `${(waitMs / twinMs).toFixed(1)} ×`,
    missed.length === 0 ? "ok" : `MISSED: ${missed.join(", ")}`,
    [outcome, ...breaches].join("; ").replaceAll(/[|\r\n]+/g, " ").slice(0, 160),
  ];
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
