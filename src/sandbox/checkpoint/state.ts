import { CheckpointError, SandboxError } from "../../errors.ts";
import type { StateMemory, StateRoom } from "./state_memory.ts";
import { type GuestLink, GuestRefusal } from "../guest_link.ts";
import { receiveState, type Reseeding, sendState, type StateRequest } from "./transfer.ts";

/** The state of a session, as the guest sent it. */
export interface SessionState extends Disposable {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Names of the host tools of the last exec. */
  readonly tools: readonly string[];
  /** Digest of the last exec, if the session has a virtual clock. */
  readonly digest?: string | undefined;
}

/**
 * Room for which a capture asks first, before it is known that the state needs more. The guest counts whole pages that
 * differ, some MiB in most sessions, of which it sends a part.
 */
const FIRST_BYTES = [8 * 1024 * 1024, 64 * 1024 * 1024, 256 * 1024 * 1024];

/** Options of {@linkcode captureState}. */
export interface CaptureStateOptions extends StateRequest {
  /** Memory of the state. */
  readonly states: StateMemory | undefined;
  /**
   * Size of an earlier state of the session: smaller rooms are not tried.
   *
   * @default 0
   */
  readonly earlierBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A captured state, and its room in memory. */
export interface CapturedState {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly room: StateRoom | undefined;
}

/**
 * Captures the state of an interpreter. Its size is not known before, and the room for the largest state is the room
 * of many: a small room comes first, and a larger room if the guest refuses that.
 *
 * @throws {CheckpointError} if it has a part that no checkpoint has.
 * @throws {SandboxError} if the interpreter is lost.
 */
export async function captureState(link: GuestLink, options: CaptureStateOptions): Promise<CapturedState> {
  const { maxBytes, memory, states, earlierBytes = 0, signal } = options;
  if (!states) return { bytes: await receive(link, { maxBytes, memory }), room: undefined };
  for (const bytes of FIRST_BYTES.filter((bytes) => bytes >= earlierBytes && bytes < maxBytes)) {
    try {
      return await captureWithin(link, { maxBytes: bytes, memory, states, signal });
    } catch (error) {
      if (!(error instanceof CheckpointError)) throw error; // the last attempt has the reason
    }
  }
  return await captureWithin(link, { maxBytes, memory, states, signal });
}

async function captureWithin(
  link: GuestLink,
  { maxBytes, memory, states, signal }: CaptureStateOptions & { states: StateMemory },
): Promise<CapturedState> {
  const room = await states.reserve(maxBytes, signal);
  try {
    const bytes = await receive(link, { maxBytes, memory });
    room.shrink(bytes.length);
    return { bytes, room };
  } catch (error) {
    room[Symbol.dispose]();
    throw error;
  }
}

async function receive(link: GuestLink, request: StateRequest): Promise<Uint8Array<ArrayBuffer>> {
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
 * fresh interpreter: a heap never shrinks, and places of native libraries may be in use.
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
