import type * as z from "zod";
import type { HostToolContext } from "../sandbox/exec.ts";

/** Sends a request, as the global `fetch` does. */
export type Fetch = (request: Request) => Response | Promise<Response>;

/** Options of {@linkcode ServerApi}. */
export interface ServerApiOptions {
  /** URL of the server, such as `http://127.0.0.1:8471`. */
  url: string | URL;
  /** Access token of the server. */
  token?: string | undefined;
  /**
   * Maximum number of retries after a failed connection or while the server is busy or failing.
   *
   * @default 4
   */
  retries?: number | undefined;
  /**
   * Milliseconds before the first retry. The delay doubles with each further one.
   *
   * @default 250
   */
  backoffMs?: number | undefined;
  /**
   * Timeout of a response in milliseconds, in addition to the timeout of its program.
   *
   * @default 300_000
   */
  responseTimeoutMs?: number | undefined;
  /**
   * Sends requests.
   *
   * @default globalThis.fetch
   */
  fetch?: Fetch | undefined;
}

/**
 * A function of this process that the programs of a session of a server may call. A `HostTool` is one whose parameters
 * are a zod object.
 */
export interface ClientTool {
  /** Name of the function in `paddock.tools`: a Python identifier. */
  readonly name: string;
  readonly description: string;
  /**
   * Schema of the arguments, as a zod object or a JSON Schema. The server checks types, sizes and enumerations; formats
   * and patterns of a zod object are checked here.
   */
  readonly parameters: z.ZodObject | Readonly<Record<string, unknown>>;
  /**
   * Milliseconds after which a call fails.
   *
   * @default 60_000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Runs a call. Calls of several threads run at the same time. The result is sent to the program as JSON; an error is
   * raised in it. The signal aborts when the call has failed or its program has ended.
   */
  run(args: Record<string, unknown>, context: HostToolContext): unknown;
}

/** Limits of a session of a server. */
export interface RemoteLimits {
  /** Default and maximum of the timeout of a program, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** Memory of the interpreter and its program, in bytes. */
  readonly memoryBytes?: number | undefined;
}

/** A session as the server describes it. Times are in ISO 8601. */
export interface RemoteSessionInfo {
  readonly id: string;
  readonly createdAt: string;
  readonly usedAt: string;
  /** Number of programs and shell commands that it has run. */
  readonly execs: number;
  /** Time at which it ends, if it has `ttlSeconds`. */
  readonly expiresAt?: string | undefined;
  readonly limits?: RemoteLimits | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** A file or folder of a session, as its programs report it. */
export interface RemoteFile {
  /** Path relative to the working directory. */
  readonly path: string;
  /** Size; 0 if it is not a file. */
  readonly bytes: number;
  readonly type?: "file" | "directory" | "link" | "other" | undefined;
  /** Time of the last change in ISO 8601, by the session's clock. */
  readonly modifiedAt?: string | undefined;
}

/** Files of a session of a server. */
export interface RemoteFiles {
  /** Lists the entries of a folder, at most 10,000; without a path, all files below the working directory. */
  listFiles(path?: string): Promise<RemoteFile[]>;
  /** Removes a file, or a folder, which must be empty unless `recursive`. */
  remove(path: string, options?: { recursive?: boolean }): Promise<void>;
  /** Makes a folder and those above it. */
  makeDirectory(path: string): Promise<void>;
}
