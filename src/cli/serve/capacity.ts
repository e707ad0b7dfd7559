import { MAX_CONNECTIONS } from "../../server/limits.ts";

/**
 * Interpreters beside the sessions' interpreters. An interpreter takes the place of a session that is reset or was lost.
 */
export const SPARE_SESSIONS = 1;

/** Sessions of each token by default: half of them are reserved for the token, one for a session and one for programs. */
const SESSIONS_PER_TOKEN = 4;
/** Sessions of a server with many tokens by default. */
const MAX_DEFAULT_SESSIONS = 32;

/** Returns the default number of sessions of a server with so many tokens. */
export function defaultSessions(tokens: number): number {
  const forTokens = Math.min(SESSIONS_PER_TOKEN * Math.max(1, tokens), MAX_DEFAULT_SESSIONS);
  return Math.max(forTokens, navigator.hardwareConcurrency);
}

/** Memory of an idle interpreter, in bytes: some 39 MB are private. */
const IDLE_BYTES = 48e6;
/** Part of the host's memory that interpreters beyond the sessions may take. */
const KEPT_MEMORY = 0.25;

/**
 * Returns the number of interpreters beyond the sessions that a server starts when more tokens than sessions take turns,
 * so that each token finds an interpreter of the token again. `memoryBytes` is the memory of the host.
 */
export function keptInterpreters(
  { tokens, maxSessions, memoryBytes }: { tokens: number; maxSessions: number; memoryBytes: number },
): number {
  const others = tokens - maxSessions - SPARE_SESSIONS;
  return Math.max(0, Math.min(others, Math.floor(KEPT_MEMORY * memoryBytes / IDLE_BYTES)));
}

/** Returns the memory of the host, or of the container if that has less, in bytes. */
export async function hostMemory(): Promise<number> {
  const limit = await Deno.readTextFile("/sys/fs/cgroup/memory.max").catch(() => "max");
  return Math.min(Deno.systemMemoryInfo().total, Number(/^\d+/.exec(limit)?.[0] ?? Infinity));
}

/** Open files of a server without sessions and connections, with some that are open for a moment. */
const OWN_FILES = 64;
/** Open files of a session: the pipes of the process, also while another process replaces it. */
const SESSION_FILES = 8;
/** Connections that a server must have room for. */
const MIN_CONNECTIONS = 32;

/**
 * Returns the number of connections for which a process has files beside the sessions. A part remains for connections
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

/** Returns the number of files that this process may open. Only Linux shows the number; elsewhere there is no limit. */
export async function fileLimit(): Promise<number> {
  const limits = await Deno.readTextFile("/proc/self/limits").catch(() => "");
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
}
