import type { CheckpointError } from "../../errors.ts";
import type { Checkpoint } from "../../sandbox/contract/checkpoint.ts";
import type { Room } from "../admission/budget.ts";
import { ServerError, toPublicError } from "../http/http_errors.ts";
import type { SessionRecordParts } from "./session_record.ts";
import type { RoomedState, StateRoom } from "./state_rooms.ts";

/** The state of a session that hibernates. Its room is free when it is disposed, and its files are removed. */
export interface HibernatedState extends AsyncDisposable {
  /** Memory that it takes while it is read and restored, in bytes; `Infinity` if that is not known. */
  readonly transferBytes: number;
  /** Why this server cannot restore it. It stays for a server that can, until its session ends. */
  readonly unusable: CheckpointError | undefined;
  /** Keeps it as one that this server cannot restore. */
  setUnusable(error: CheckpointError): void;
  /**
   * Returns the state.
   *
   * @throws {CheckpointError} if its file is damaged.
   */
  read(): Promise<Checkpoint>;
  /**
   * Frees its room before it is restored, as another session of its owner may need that to give its interpreter up. One
   * state of each owner can be without room at a time; further ones follow when it is restored.
   */
  beginWake(): void;
  /** Takes its room again, as it was not restored. */
  cancelWake(): void;
  /** Saves its record again if it is in the directory and usable, as the session has changed. */
  update(): Promise<void>;
  /** Removes its files after it was restored, as a later server must not return to them. Throws if that fails. */
  removeFiles(): Promise<void>;
  /**
   * Saves it, so that a later server continues its session. It is in the directory after its disposal, too.
   *
   * @throws {ServerError} `busy` or `too_large` if there is no room for it in the directory.
   */
  suspend(): Promise<void>;
}

/** Returns the error of the requests of a session that this server cannot continue. */
export function toUnusableError(cause: CheckpointError): ServerError {
  const { code } = toPublicError(cause);
  const message =
    "The session cannot continue in this server, which keeps its state until the session ends. ";
  return new ServerError(code, message + cause.message, { cause, reason: cause.code });
}

/** Entry of a state in the store. */
export interface HibernatedEntry extends RoomedState {
  /** Returns the record of its session as it is now. */
  describe: () => SessionRecordParts;
  /** Size of the state before it was compressed, if it is known. */
  readonly stateBytes: number | undefined;
  /** Room of its session: one of their number, and what its client has given to it. */
  readonly session: Room;
  /** True if a later server continues its session. */
  readonly outlivesServer: boolean;
  /** Starts its copy, while it is in memory alone. */
  copyTimer: ReturnType<typeof setTimeout> | undefined;
  /** The state and its room, while it is in memory. */
  memory: StateRoom<Checkpoint> | undefined;
  /** Room of its files, while it has any. They may be copies of the state in memory. */
  file: { readonly session: string; readonly room: StateRoom<undefined> } | undefined;
  /** Resolves when the last change of its files has ended. */
  changed: Promise<void>;
  unusable: CheckpointError | undefined;
  /** True if its room is free, as it wakes. */
  isFree: boolean;
  isDisposed: boolean;
  /** True if its files remain after its disposal. */
  isSuspended: boolean;
}

/** Parts of a new entry. */
export const NEW_ENTRY = {
  copyTimer: undefined,
  memory: undefined,
  file: undefined,
  changed: Promise.resolve(),
  unusable: undefined,
  isFree: false,
  isDisposed: false,
  isSuspended: false,
};
