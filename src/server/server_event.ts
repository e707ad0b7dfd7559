import type { ErrorCode } from "../wire/error_codes.ts";

/** Something that an operator's log shows. It has no token, path or body of a request, and no metadata of a session. */
export type ServerEvent = SessionEvent | InterpreterLost | RequestRefused;

/** Characters of a session's id that a log shows: the whole id lets a client without a token use the session. */
const ID_CHARACTERS = 8;

/** Returns the start of a session's id, which an event has. */
export function startOfId(id: string): string {
  return id.slice(0, ID_CHARACTERS);
}

/**
 * A session that clients find by its id has opened, has ended after some seconds and programs, or was saved in the state
 * directory as the server stops.
 */
export type SessionEvent =
  | { readonly kind: "session opened"; readonly session: string; readonly owner: string }
  | {
    readonly kind: "session ended" | "session saved";
    readonly session: string;
    readonly owner: string;
    readonly seconds: number;
    readonly programs: number;
  };

/** A program has ended its interpreter: it crashed, exceeded the memory, or could not be interrupted. */
export interface InterpreterLost {
  readonly kind: "interpreter lost";
  /** Start of the session's id. */
  readonly session: string;
  readonly owner: string;
  /** Status of the program's result. */
  readonly status: string;
}

/** A request was refused by access rules, by a limit, or as the server was busy or stopped. */
export interface RequestRefused {
  readonly kind: "request refused";
  readonly method: string;
  /** Template of the route. */
  readonly route: string;
  readonly code: ErrorCode;
  readonly owner: string;
}

const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "unauthorized",
  "forbidden",
  "too_large",
  "too_slow",
  "busy",
  "unavailable",
  "timeout",
]);

/** True if the code of an error means a refused request, and not a wrong request. */
export function isRefusal(code: ErrorCode): boolean {
  return REFUSALS.has(code);
}
