import type * as z from "zod";
import type { CheckpointErrorCode } from "../errors.ts";
import type { AdvantagesOptions } from "../rollout/advantages.ts";
import type { InteractionResult } from "../rollout/interaction.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { Checkpoint } from "../sandbox/contract/checkpoint.ts";
import type { WaitingCall } from "../sandbox/contract/exec.ts";
import type { HostToolContext } from "../sandbox/host_tool.ts";

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
   * Milliseconds before the first retry. The delay doubles with each further retry.
   *
   * @default 250
   */
  backoffMs?: number | undefined;
  /**
   * Timeout of a response in milliseconds, in addition to the timeout of the program.
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
 * A function of this process that the programs of a session of a server may call. A `HostTool` is such a function
 * whose parameters are a zod object.
 */
export interface ClientTool {
  /** Name of the function in `paddock.tools`: a Python identifier. */
  readonly name: string;
  readonly description: string;
  /**
   * Schema of the arguments, as a zod object or a JSON Schema. The server checks types, sizes and enumerations;
   * formats and patterns of a zod object are checked here.
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
   * raised in the program. The signal aborts when the call has failed or the program has ended.
   */
  run(args: Record<string, unknown>, context: HostToolContext): unknown;
}

/** A task of a rollout. */
export interface RemoteTask {
  /** @default `task-1` for the first task, and so on */
  readonly id?: string | undefined;
  /** The user's question, or a conversation that the episode continues. */
  readonly query: string | readonly { readonly role: string; readonly content: unknown }[];
  /** Reference answer for the grader, which the policy does not see. */
  readonly answer?: string | number | undefined;
  readonly reference?: string | undefined;
  /** Further input of the grader, such as a program's tests. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Group in which rewards are compared with each other.
   *
   * @default the samples of the task
   */
  readonly group?: string | undefined;
}

/** Options of a rollout on a server. `GET /v1/rollouts` lists the policies and envs that the server allows. */
export interface RemoteRolloutOptions {
  /** Policy of the server, such as `sglang:http://127.0.0.1:30000`. */
  readonly policy: string;
  /** Name of the model, which a policy of chat completions needs. */
  readonly model?: string | undefined;
  /**
   * Sampling temperature.
   *
   * @default the model server's
   */
  readonly temperature?: number | undefined;
  /**
   * Maximum number of tokens of a reply.
   *
   * @default the model server's
   */
  readonly maxTokens?: number | undefined;
  readonly tasks: readonly RemoteTask[];
  /**
   * Parts of a reply that run in an episode: Python blocks, tool calls, or nothing. In `rlm`, a recursive language
   * model, code reads the task's field `context` and asks the policy; each question is a separate item, with a
   * `parent`.
   *
   * @default "python"
   */
  readonly env?: "python" | "tools" | "chat" | "rlm" | undefined;
  /** Tools of the server that may be called. */
  readonly tools?: readonly string[] | undefined;
  /**
   * Who calls the tools: the model in replies, the code of Python blocks, or both.
   *
   * @default ["model"]
   */
  readonly toolCallers?: readonly ("model" | "code")[] | undefined;
  /**
   * Where code finds the tools: as `paddock.tools.<name>`, also as functions, or also in a module for each prefix.
   *
   * @default "tools"
   */
  readonly toolNames?: "tools" | "functions" | "modules" | undefined;
  /** Format of tool calls, as `--calls` of `paddock rollout`. */
  readonly calls?: string | undefined;
  /** Grader of the server. Without a grader, episodes have no reward. */
  readonly grader?: string | undefined;
  /** System message that is put before the query of each task. */
  readonly systemPrompt?: string | undefined;
  /**
   * Maximum number of replies of an episode.
   *
   * @default 8, or 30 in the env `rlm`
   */
  readonly maxTurns?: number | undefined;
  /**
   * Timeout of a block or a call, in milliseconds. In the env `rlm` the time of a block includes its questions.
   *
   * @default 10_000, or 600_000 in the env `rlm`
   */
  readonly timeoutMs?: number | undefined;
  /**
   * True to run blocks without a tag in the env `python`.
   *
   * @default false
   */
  readonly runUnlabeled?: boolean | undefined;
  /**
   * True to run blocks inside thoughts in the env `python`.
   *
   * @default false
   */
  readonly runThoughts?: boolean | undefined;
  /**
   * Episodes of each task.
   *
   * @default 1
   */
  readonly samples?: number | undefined;
  /**
   * Episodes at once. In the envs `python` and `rlm` there are at most as many as the server has sessions.
   *
   * @default 8
   */
  readonly concurrency?: number | undefined;
  /** Base seed, from which each episode's own seed is derived. */
  readonly seed?: number | undefined;
  /** Version of the weights, which each turn records. */
  readonly weightVersion?: number | string | undefined;
  /**
   * True to get the turns so far of the running episodes when the rollout is stopped.
   *
   * @default false
   */
  readonly partial?: boolean | undefined;
  /**
   * Finished episodes that may wait on the server.
   *
   * @default 64
   */
  readonly maxWaiting?: number | undefined;
  /**
   * Memory of these episodes, in bytes, which the server reserves.
   *
   * @default 16 MiB
   */
  readonly maxWaitingBytes?: number | undefined;
  /**
   * Score of an episode that a limit of tokens cut off: by the grader, or `null`.
   *
   * @default "grade"
   */
  readonly cutScore?: "grade" | "none" | undefined;
  /**
   * Method of the advantages of each group, and the method's options.
   *
   * @default { method: "grpo" }
   */
  readonly advantages?: Omit<AdvantagesOptions, "groups"> | undefined;
  /**
   * True for rows with tokens, loss masks and log-probabilities in place of trajectories. The server needs a
   * tokenizer.
   *
   * @default false
   */
  readonly tokens?: boolean | undefined;
  /** Partial rows of an earlier rollout, which are continued. */
  readonly resumed?: readonly InteractionResult[] | undefined;
}

/** Advantage of an episode of a group. */
export interface RemoteAdvantage {
  readonly taskId: string;
  /** Number of the episode among the episodes of the task, from 1. */
  readonly sample: number;
  readonly reward: number | null;
  /** `null` if the episode was not scored, which is not the same as 0. */
  readonly advantage: number | null;
}

/** Item of a rollout on a server. */
export type RemoteRolloutItem =
  /**
   * Episode that has ended, or that was stopped before the end, with a `row` if there are tokens, else with a
   * `trajectory`.
   */
  | {
    readonly kind: "episode" | "partial";
    readonly group: string;
    readonly trajectory?: Trajectory;
    readonly row?: InteractionResult;
  }
  /** Group of which all episodes have been yielded, with their advantages. */
  | { readonly kind: "group"; readonly group: string; readonly episodes: readonly RemoteAdvantage[] };

/**
 * A rollout that a server plays for this client. The rollout begins when the first item is requested, and can be read
 * once.
 */
export interface RemoteRollout extends AsyncIterable<RemoteRolloutItem> {
  /**
   * Sets the version of the weights, which turns that begin later record. The rollout needs a `weightVersion` at the
   * start. The call waits until the rollout has begun. If all episodes have ended, the call does nothing.
   *
   * @throws {RequestError} if the request fails.
   */
  setWeightVersion(version: number | string): Promise<void>;
  /**
   * Stops the running episodes. With `partial` they are then among the items, which end. If all episodes have ended,
   * the call does nothing.
   *
   * @throws {RequestError} if the request fails.
   */
  stop(): Promise<void>;
  /**
   * Plays the episodes and yields them in the order of their ends. The server plays ahead while the caller works on an
   * item, within `maxWaiting`. If the caller leaves the loop, the server stops the running episodes.
   *
   * @throws {TypeError} if the server does not accept the options, or the rollout was read before.
   * @throws {RequestError} if the server does not allow the policy or the env, or the connection fails.
   */
  [Symbol.asyncIterator](): AsyncGenerator<RemoteRolloutItem>;
}

/** Limits of a session of a server. */
export interface RemoteLimits {
  /** Default and maximum of the timeout of a program, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** Memory of the interpreter and the program, in bytes. */
  readonly memoryBytes?: number | undefined;
}

/** A session as the server describes it. Times are in ISO 8601. */
export interface RemoteSessionInfo {
  readonly id: string;
  readonly createdAt: string;
  readonly usedAt: string;
  /** Number of programs and shell commands that the session has run. */
  readonly execs: number;
  /** Time at which the session ends, if the session has `ttlSeconds`. */
  readonly expiresAt?: string | undefined;
  readonly limits?: RemoteLimits | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** The call that the session's program waits for, if a program waits. */
  readonly waiting?: WaitingCall | undefined;
  /**
   * Why the server cannot continue the session after a restart, if that is so. Requests to the session fail with this
   * code.
   */
  readonly unusable?: CheckpointErrorCode | undefined;
}

/** A checkpoint that a server keeps for the client's token. `toBytes()` exports it. */
export interface RemoteCheckpoint extends Checkpoint {
  /**
   * Time at which the server deletes the checkpoint unless a use comes before, in ISO 8601, when this object was made.
   */
  readonly expiresAt: string;
}

/** A file or folder of a session, as programs of the session report the file. */
export interface RemoteFile {
  /** Path relative to the working directory. */
  readonly path: string;
  /** Size; 0 for anything but a file. */
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
  /** Makes a folder and the folders above. */
  makeDirectory(path: string): Promise<void>;
}
