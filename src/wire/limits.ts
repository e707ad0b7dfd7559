/**
 * Limits of one request, of `/v1` and of other systems' clients. The limits of the whole server are in
 * `src/server/limits.ts`.
 *
 * @module
 */

/** Maximum timeout of a program that a request may set, in milliseconds. */
export const MAX_TIMEOUT_MS = 3_600_000;
/** {@linkcode MAX_TIMEOUT_MS} for the systems whose requests state seconds. */
export const MAX_TIMEOUT_SECONDS: number = MAX_TIMEOUT_MS / 1000;
/** Maximum timeout of a code block or tool call of an env, in milliseconds. */
export const MAX_ENV_CALL_MS = 600_000;

/** Items of one batch: programs, scripts, or steps of envs. */
export const MAX_BATCH_ITEMS = 4096;
/** Characters that the response to one batch may carry; the items after that do not run. */
export const MAX_BATCH_CHARACTERS: number = 64 * 1024 * 1024;

/** Files that one request may fetch. */
export const MAX_FILES = 256;
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
