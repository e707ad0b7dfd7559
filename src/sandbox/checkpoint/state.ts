import { CheckpointError, SandboxError } from "../../errors.ts";
import { type GuestLink, GuestRefusal } from "../guest_link.ts";
import { receiveState, type Reseeding, sendState, type StateRequest } from "./transfer.ts";

/** The state of a session, as the guest sent it. */
export interface SessionState {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Names of the host tools of the last exec. */
  readonly tools: readonly string[];
}

/**
 * Captures the state of an interpreter.
 *
 * @throws {CheckpointError} if it has a part that no checkpoint has.
 * @throws {SandboxError} if the interpreter is lost.
 */
export async function captureState(
  link: GuestLink,
  request: StateRequest,
): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await receiveState(link, request);
  } catch (cause) {
    throw toRefusal(cause);
  }
}

/** Options of {@linkcode restoreState}. */
export interface RestoreStateOptions extends Reseeding {
  readonly link: GuestLink;
  /** Replaces the interpreter by a fresh one. */
  readonly replace: () => Promise<GuestLink>;
}

/**
 * Restores a state in an interpreter. If that refuses it, or is lost, it is replaced, and the state restored in the
 * fresh one: a heap never shrinks, and places of native libraries may be in use.
 *
 * @throws {CheckpointError} if the fresh interpreter refuses it, too, after which it is replaced again.
 */
export async function restoreState(state: Uint8Array, options: RestoreStateOptions): Promise<void> {
  const { link, replace, ...reseeding } = options;
  try {
    return await sendState(link, state, reseeding);
  } catch (error) {
    if (!(error instanceof GuestRefusal) && !(error instanceof SandboxError)) throw error;
  }
  const fresh = await replace();
  try {
    await sendState(fresh, state, reseeding);
  } catch (cause) {
    await replace();
    throw toRefusal(cause);
  }
}

function toRefusal(cause: unknown): unknown {
  if (!(cause instanceof GuestRefusal)) return cause;
  return new CheckpointError(cause.message, { code: "checkpoint_refused", cause });
}
