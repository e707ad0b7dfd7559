/**
 * Limits of an exec that a request to a server or a message to a node states.
 *
 * @module
 */

/** Maximum timeout of a program that a request may set, in milliseconds. */
export const MAX_TIMEOUT_MS = 3_600_000;
/** Files that a request may fetch. */
export const MAX_FILES = 256;
/** Characters of a file's path. */
export const MAX_PATH_CHARACTERS = 1024;
/** Tools of the client that a session may have. */
export const MAX_SESSION_TOOLS = 64;
