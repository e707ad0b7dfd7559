import { SandboxError } from "../errors.ts";
import { requestError } from "../wire/v1.ts";

/** Why a server refused, as far as it told. */
export interface Refusal {
  /** The status of the answer, or what there was instead. */
  readonly status: number | string;
  /** The word for it; empty where something else answered in the server's place. */
  readonly type: string;
  readonly message: string;
}

const SHOWN_CHARACTERS = 1_000;

/** What the body of a failure says. */
export function readRefusal(status: number, text: string): Refusal {
  const told = requestError.safeParse(errorIn(text));
  if (told.success) return { status, ...told.data };
  return { status, type: "", message: text.trim().replace(/\s+/g, " ") };
}

/**
 * A refusal as the error that a local session would have thrown: a `TypeError` for what the caller got wrong, an
 * `Error` for a file that cannot be read or written, and a `SandboxError` for the rest.
 */
export function refusalError(doing: string, { status, type, message }: Refusal): Error {
  const told = message.slice(0, SHOWN_CHARACTERS);
  if (/^Cannot (read|write) /.test(told) && (type === "not_found" || type === "invalid")) {
    return new Error(told);
  }
  if (type === "invalid") return new TypeError(told);
  return new SandboxError(`Cannot ${doing} as the server answered ${status}${told && `: ${told}`}`);
}

function errorIn(text: string): unknown {
  try {
    return Object(JSON.parse(text)).error;
  } catch {
    return undefined; // no JSON: the text itself is shown
  }
}
