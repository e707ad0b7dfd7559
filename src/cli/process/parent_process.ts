import { basename } from "node:path";
import { isHangupIgnored } from "./hangup.ts";

/**
 * Finds the npx that runs this process, and waits for the end of npx. npx passes SIGTERM to npx's shell, but not to the
 * programs below the shell, so that `kill` and `timeout` of npx would leave this process running.
 */

/** Facts that {@linkcode findNpx} reads of a process. */
export interface ProcessState {
  readonly parent: number;
  readonly session: number;
  readonly hasEnded: boolean;
  readonly args: readonly string[];
  /** Name of the program that a shell started as this process, if the shell was bash or zsh. */
  readonly launcher: string;
}

/** Returns the state of a process, or `undefined` if there is no such process. Throws if that cannot be read now. */
export type ReadProcess = (pid: number) => ProcessState | undefined;

/** The npx that runs this process. */
export interface Npx {
  readonly pid: number;
  /** True if npx was started by `nohup`. npx itself ends at SIGHUP nevertheless, as npm listens to that signal. */
  readonly hasNohup: boolean;
}

/** Number of processes between npx and this process: a shell, Node with the script of a package, `deno task`. */
const MAX_DISTANCE = 6;
/** Time between two looks at npx. */
const INTERVAL_MS = 500;

/** Options of {@linkcode findNpx}. */
export interface FindNpxOptions {
  /** True if the process was started with SIGHUP ignored. @default {@linkcode isHangupIgnored} */
  readonly ignoresHangup?: boolean | undefined;
  /** @default this process */
  readonly pid?: number;
  readonly read?: ReadProcess;
}

/**
 * Returns the npx that runs a process as npx's command, or `undefined`. A process that `nohup` or `setsid` detached from
 * npx, or that another program below npx started, is not npx's command.
 */
export function findNpx(options: FindNpxOptions = {}): Npx | undefined {
  const { ignoresHangup = isHangupIgnored(), pid = Deno.pid, read = readProcess } = options;
  const self = read(pid);
  let current = self;
  for (let distance = 0; self !== undefined && current !== undefined && distance < MAX_DISTANCE; distance++) {
    const parent = read(current.parent);
    if (parent === undefined || parent.session !== self.session) return undefined;
    if (isNpx(parent.args)) {
      const hasNohup = parent.launcher === "nohup" && read(parent.parent)?.launcher !== "nohup";
      return ignoresHangup && !hasNohup ? undefined : { pid: current.parent, hasNohup };
    }
    if (!isStep(parent.args)) return undefined;
    current = parent;
  }
  return undefined;
}

/** Calls `onEnd` once after npx has ended. Dispose ends the watch. */
export function watchNpx({ pid }: Npx, onEnd: () => void, read: ReadProcess = readProcess): Disposable {
  const timer = setInterval(() => {
    if (!hasEnded(pid, read)) return;
    clearInterval(timer);
    onEnd();
  }, INTERVAL_MS);
  Deno.unrefTimer(timer);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** True if npx is known to have ended: the next look answers the open question. */
function hasEnded(npx: number, read: ReadProcess): boolean {
  try {
    const state = read(npx);
    return state === undefined || state.hasEnded || !isNpx(state.args);
  } catch {
    return false; // no file can be opened now
  }
}

/** True for npx, whose title is `npm exec` with the arguments. */
function isNpx([first = "", second = ""]: readonly string[]): boolean {
  return /^npm exec\b/.test(first) ||
    (basename(first) === "node" && /^npx(-cli\.js)?$/.test(basename(second)));
}

/** True for a process that npx, or a package that npx starts, puts between npx and npx's command. */
function isStep([program = "", first = "", ...rest]: readonly string[]): boolean {
  switch (basename(program)) {
    case "sh":
    case "dash":
    case "bash":
      return first === "-c";
    case "node":
      return /^(deno|bin\.cjs|paddock|paddock\.mjs)$/.test(basename(first));
    case "deno":
      return first === "task" || rest.includes("task");
    default:
      return false;
  }
}

/** Reads a process of this system. Returns `undefined` on a system without `/proc`. */
function readProcess(pid: number): ProcessState | undefined {
  const stat = readProcFile(pid, "stat");
  if (stat === undefined) return undefined;
  const [state = "", parent, , session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [, launcher = ""] = /(?:^|\0)_=([^\0]*)/.exec(readProcFile(pid, "environ") ?? "") ?? [];
  return {
    parent: Number(parent),
    session: Number(session),
    hasEnded: state === "Z" || state === "X",
    args: (readProcFile(pid, "cmdline") ?? "").replace(/[\0\s]+$/, "").split("\0"),
    launcher: basename(launcher),
  };
}

/** Codes of errors of a system that has no open file or memory left, which say nothing of a process. */
const EXHAUSTED = ["EMFILE", "ENFILE", "ENOMEM"];

/** Returns `undefined` if the process has ended or belongs to another user, or the system has no `/proc`. */
function readProcFile(pid: number, name: string): string | undefined {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/${name}`);
  } catch (error) {
    if (error instanceof Error && "code" in error && EXHAUSTED.includes(String(error.code))) throw error;
    return undefined;
  }
}
