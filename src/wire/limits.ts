/**
 * The bounds of requests: what a server accepts in one request, whether of `/v1` or of another system's clients.
 * `src/server/limits.ts` lists what the server keeps for itself.
 *
 * @module
 */

/** Longest time that a request may give a program, in milliseconds. */
export const MAX_TIMEOUT_MS = 3_600_000;
/** {@linkcode MAX_TIMEOUT_MS} for the systems whose requests state seconds. */
export const MAX_TIMEOUT_SECONDS: number = MAX_TIMEOUT_MS / 1000;
/** Longest time that an env may give a code block or a tool call, in milliseconds. */
export const MAX_ENV_CALL_MS = 600_000;

/** Items of one batch: programs, scripts, or steps of envs. */
export const MAX_BATCH_ITEMS = 4096;
/** Characters that the response to one batch may carry; the items after that do not run. */
export const MAX_BATCH_CHARACTERS: number = 64 * 1024 * 1024;

/** Files that one request may fetch. */
export const MAX_FILES = 1_000;
/** Characters of a file's path. */
export const MAX_PATH_CHARACTERS = 1024;

/** Messages of one conversation. */
export const MAX_MESSAGES = 4096;
/** Tasks of one env. */
export const MAX_TASKS = 4096;
/** Tools that one env may name. */
export const MAX_TOOLS = 256;
/** Replies that an episode may be given. */
export const MAX_TURNS = 1024;

/** Characters of the id of a session or an env, or of the name of a grader. */
export const MAX_NAME_CHARACTERS = 64;
/** Characters of a request's id, which is its header `X-Request-ID`. */
export const MAX_REQUEST_ID_CHARACTERS = 255;
