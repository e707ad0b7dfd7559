/**
 * The bounds that keep a server alive under any load. `src/wire/limits.ts` lists the bounds of a single request;
 * the profile of a sandbox lists the limits of a program.
 *
 * @module
 */

import { JSON_LIMITS } from "../json.ts";

const MIB = 1024 * 1024;

// Requests

/** Bounds of any request; an option of the server replaces each. */
export interface RequestLimits {
  /**
   * Bytes of a body.
   *
   * @default 32 MiB
   */
  bodyBytes: number;
  /**
   * Bytes of the headers, names and values together.
   *
   * @default 16 KiB
   */
  headerBytes: number;
  /**
   * Depth of nested arrays and objects of JSON.
   *
   * @default 64
   */
  depth: number;
  /**
   * Values of JSON: elements of arrays and members of objects.
   *
   * @default 100_000
   */
  values: number;
  /**
   * Milliseconds until the whole body must have arrived.
   *
   * @default 30_000
   */
  bodyMs: number;
}

/** Default limits of a request. */
export const REQUEST_LIMITS: RequestLimits = {
  bodyBytes: 32 * MIB,
  headerBytes: 16 * 1024,
  ...JSON_LIMITS,
  bodyMs: 30_000,
};
/** Connections at once. Each costs some 10 kB and an open file. */
export const MAX_CONNECTIONS = 8192;
/**
 * Milliseconds until the first head of a new connection must have arrived, and each further head from its first byte.
 */
export const HEAD_MS = 30_000;
/**
 * Bytes of a head, above which the head is no longer read. A smaller head that is too large has a full error response.
 */
export const MAX_HEAD_BYTES: number = 64 * 1024;
/** Headers of a request. */
export const MAX_HEADERS = 256;
/** Milliseconds until a connection without a request is closed after a response. */
export const KEEP_ALIVE_MS = 600_000;
/** Requests of a connection that may wait for the response to an earlier request. */
export const MAX_PIPELINED = 16;
/** Connections at once with a refused last request. */
export const MAX_QUIET_CONNECTIONS = 256;
/** Milliseconds between two reports of connections that are closed because there are too many. */
export const REPORT_MS = 60_000;
/** Bytes of the body of a refused request that are read. */
export const MAX_DISCARDED_BYTES: number = MIB;
/** Milliseconds for which the body of a refused request is read. */
export const DISCARD_MS = 250;
/** Connections at once from a single address that have sent no authenticated request. */
export const MAX_ADDRESS_CONNECTIONS = 1024;
/** Responses to requests with an id that are kept, for requests that come again. */
export const MAX_KEPT_RESPONSES = 4096;

// Memory

/**
 * Default memory of data that waits or is kept, in bytes. Half is for what waits: requests, messages and output that
 * is not read yet. Half is for what is kept: envs and responses to requests with an id.
 */
export const BUFFER_BYTES: number = 512 * MIB;
/** Memory of waiting data of requests that need no token, in bytes, where others need one. */
export const OPEN_BYTES: number = 16 * MIB;
/** Bytes of memory that each byte of a request takes while the request waits: the text and the values of the text. */
export const MEMORY_PER_BYTE = 3;
/** Bytes of memory that each character of an env takes. */
export const MEMORY_PER_CHARACTER = 2;
/** Characters that each value of an env's tasks counts as, beside the value's own characters. */
export const CHARACTERS_PER_VALUE = 16;
/** Bytes of a stream that may wait for their reader. Above, the program that prints them is held back. */
export const STREAM_QUEUE_BYTES: number = 256 * 1024;
/**
 * Bytes of an owner's responses of which nothing was read for {@linkcode UNREAD_MS}. Clients beyond are
 * disconnected. A single response may be larger.
 */
export const MAX_UNREAD_BYTES: number = 32 * MIB;
/** Milliseconds without a read after which the response of a client counts as unread. */
export const UNREAD_MS = 5_000;

// Wrong tokens

/** Wrong tokens of an address within {@linkcode TOKEN_MEMORY_MS} that are refused without a delay. */
export const TOKEN_ERRORS = 5;
/** Milliseconds in which the wrong tokens of an address are counted. */
export const TOKEN_MEMORY_MS = 60_000;
/** Delay of each refusal of a wrong token beyond {@linkcode TOKEN_ERRORS}, in milliseconds. */
export const TOKEN_DELAY_MS = 1_000;
/** Refusals that are delayed at once; further ones are answered with 429 at once. */
export const MAX_DELAYED_REFUSALS = 256;
/** Addresses with counted wrong tokens. */
export const MAX_FAILED_ADDRESSES = 1024;
/**
 * Share of the time of the serving thread in which wrong signatures that name no sandbox are compared with the
 * signatures of all sandboxes. Further ones are answered with 429.
 */
export const SIGNATURE_SEARCH_SHARE = 0.05;
/** Milliseconds of comparing wrong signatures at once, after a time without any. */
export const SIGNATURE_SEARCH_MS = 250;

// Sessions

/** Default number of requests that may wait to open a session. Single programs and grades are not counted. */
export const SESSION_QUEUE = 64;
/** Default time that a request waits for a session or a grader, in milliseconds. */
export const SESSION_WAIT_MS = 30_000;
/** Default time after which an unused session or env ends, in milliseconds. */
export const IDLE_MS = 600_000;
/** Requests that may wait for a session. */
export const MAX_SESSION_WAITING = 64;

/** Memory of a call of a client's tool that waits for the answer, beside the arguments, in bytes. */
export const CALL_BYTES = 1024;
/**
 * Number of values of a call's arguments times the characters of the tool's schema: the work of checking them, which
 * the thread that serves everyone does.
 */
export const MAX_CALL_CHECKS: number = 16 * MIB;
/** Characters of the arguments times the characters of the schema. */
export const MAX_CALL_CHECK_CHARACTERS: number = 4096 * MIB;

// Checkpoints

/** Default memory of the checkpoints that clients keep, in bytes. */
export const CHECKPOINT_BYTES: number = 1024 * MIB;
/** Checkpoints at once. */
export const MAX_CHECKPOINTS = 10_000;
/**
 * Memory of states that are not compressed, as they are being captured, read or restored, in bytes. A state of the
 * largest size of the profile `serve` has room beside some of 100 MiB.
 */
export const TRANSFER_BYTES: number = 1024 * MIB;
/** Default time after which an unused checkpoint is deleted, in milliseconds. */
export const CHECKPOINT_LIFE_MS = 86_400_000;

// Hibernation

/** Default time without use after which a session hibernates, in milliseconds. */
export const HIBERNATE_AFTER_MS = 60_000;
/** Default memory of the states of sessions that hibernate, in bytes. */
export const HIBERNATION_BYTES: number = 512 * MIB;
/** Default size of a state directory, in bytes. */
export const STATE_DIRECTORY_BYTES: number = 4096 * MIB;
/**
 * Time after which the state of a session that hibernates in memory is copied to a state directory, in milliseconds.
 */
export const HIBERNATION_COPY_MS = 1_000;
/** Time after which a state directory that could not be written is tried again, in milliseconds. */
export const STATE_RETRY_MS = 5_000;
/** Interval at which a state directory removes sessions of other owners that have ended, in milliseconds. */
export const STATE_SWEEP_MS = 3_600_000;
/** Sessions that hibernate at once. */
export const MAX_HIBERNATING = 10_000;
/** Time after which a session that hibernates ends, in milliseconds. */
export const HIBERNATION_LIFE_MS = 86_400_000;
/** Time that a server which stops takes to save sessions, in milliseconds. */
export const SUSPEND_MS = 30_000;

// Grades

/** Characters of a reply, and of the task, that a grader reads. The thread that serves everyone copies them once. */
export const MAX_GRADED_CHARACTERS: number = MIB;

// Envs

/** Default number of envs at once. */
export const MAX_ENVS = 1024;
/** Requests that may wait for an env. */
export const MAX_ENV_WAITING = 16;
/** Characters of a reply. No honest reply is longer. */
export const MAX_REPLY_CHARACTERS: number = MIB;
/** Characters of an episode. */
export const MAX_EPISODE_CHARACTERS: number = 32 * MIB;

// Rollouts

/** Rollouts at once. */
export const MAX_ROLLOUTS = 64;
/** Time that a trainer may take between two reads of a rollout, in milliseconds. */
export const ROLLOUT_READ_MS = 3_600_000;

// Clients of the Model Context Protocol

/** Connected clients and sessions with handles at once. */
export const MAX_MCP_CLIENTS = 1024;
/** Time after which an idle client is taken to have disconnected, in milliseconds. */
export const MCP_IDLE_MS = 3_600_000;
/**
 * Time after which the session of an idle client may make room for another, in milliseconds. Clients disconnect
 * without notice.
 */
export const MCP_SPARE_MS = 60_000;
/**
 * Time after which an unused session that calls name by a handle may make room for another, in milliseconds. The time
 * is less than a request waits for a session, as clients that use no handle leave a session behind with each call.
 */
export const MCP_HANDLE_SPARE_MS = 10_000;
/** Checkpoints of a client at once. */
export const MAX_MCP_CHECKPOINTS = 32;

// Clients of OpenEnv

/** Sockets at once. */
export const MAX_SOCKETS = 1024;
/** Messages that may wait on a socket. Their bytes count as waiting data of the owner. */
export const MAX_SOCKET_WAITING = 16;
/** Bytes of a message; the fragments of a message count together. */
export const MAX_SOCKET_BYTES: number = 32 * MIB;
/** Bytes of an unfinished message that do not count as waiting data yet. */
export const UNCOUNTED_SOCKET_BYTES: number = 64 * 1024;
/** Milliseconds that a client may take to answer the end of the connection. */
export const SOCKET_CLOSE_MS = 2_000;
/** Milliseconds between two pings; a client that sends nothing in between has disconnected. */
export const SOCKET_PING_MS = 60_000;
/** Time that a client may take to read a response before the socket is closed, in milliseconds. */
export const SOCKET_READ_MS = 60_000;
/** Tokens of an episode of the chat env. */
export const MAX_EPISODE_TOKENS = 1_000_000;
