/**
 * Limits of a request, of `/v1` and of other systems' clients. The limits of the whole server are in
 * `src/server/limits.ts`.
 *
 * @module
 */

import { MAX_TIMEOUT_MS } from "../sandbox/contract/limits.ts";

export {
  MAX_FILES,
  MAX_PATH_CHARACTERS,
  MAX_SESSION_TOOLS,
  MAX_TIMEOUT_MS,
} from "../sandbox/contract/limits.ts";
/** {@linkcode MAX_TIMEOUT_MS} for the systems whose requests state seconds. */
export const MAX_TIMEOUT_SECONDS: number = MAX_TIMEOUT_MS / 1000;
/** Maximum timeout of a code block or tool call of an env, in milliseconds. */
export const MAX_ENV_CALL_MS = 600_000;

/** Items of a batch: programs, scripts, or steps of envs. */
export const MAX_BATCH_ITEMS = 4096;
/** Characters that the response to a batch may carry; the items after that do not run. */
export const MAX_BATCH_CHARACTERS: number = 64 * 1024 * 1024;

/** Messages of a conversation. */
export const MAX_MESSAGES = 4096;
/** Tasks of an env. */
export const MAX_TASKS = 4096;
/** Characters of the JSON of all tools of a session. */
export const MAX_SESSION_TOOLS_CHARACTERS: number = 64 * 1024;
/** Characters of the message of an error that a tool of the client returns. */
export const MAX_TOOL_ERROR_CHARACTERS: number = 64 * 1024;
/** Default time within which a client must answer a call of a tool, in milliseconds. */
export const TOOL_TIMEOUT_MS = 60_000;
/** Maximum time within which a client must answer a call of a tool, in milliseconds. */
export const MAX_TOOL_TIMEOUT_MS = 600_000;

/** Tools that an env may name. */
export const MAX_TOOLS = 256;
/** Replies that an episode may be given. */
export const MAX_TURNS = 1024;

/** Samples of a task of a rollout, and simultaneous episodes of a rollout. */
export const MAX_SAMPLES = 1024;
/** Episodes of a rollout that may wait for the client. */
export const MAX_WAITING_EPISODES = 4096;
/** Maximum bytes of the episodes of a rollout that may wait for the client. */
export const MAX_WAITING_BYTES: number = 256 * 1024 * 1024;
/** Default bytes of the episodes of a rollout that may wait for the client. */
export const WAITING_BYTES: number = 16 * 1024 * 1024;

/** Characters of the id of a session or an env, or of the name of a grader. */
export const MAX_NAME_CHARACTERS = 64;
/** Characters of a request's id, the header `X-Request-ID`. */
export const MAX_REQUEST_ID_CHARACTERS = 255;

/** Copies of a session that a fork makes. */
export const MAX_FORK_COUNT = 256;

/** Entries of a session's metadata. */
export const MAX_METADATA_ENTRIES = 32;
/** Characters of a key of a session's metadata. */
export const MAX_METADATA_KEY_CHARACTERS = 64;
/** Bytes of a session's metadata, keys and values together, in UTF-8. */
export const MAX_METADATA_BYTES = 4096;
/** Maximum life of a session that a request may set, in seconds. */
export const MAX_TTL_SECONDS = 86_400;
/** Minimum of a memory limit that a request may set, in bytes. The interpreter itself takes some 30 MiB. */
export const MIN_MEMORY_BYTES: number = 64 * 1024 * 1024;
/** Entries of a folder that a response lists. */
export const MAX_FOLDER_ENTRIES = 10_000;

/** Most tasks of a family that a request may ask for. */
export const MAX_FAMILY_TASKS = 200;
