import type { CheckpointError } from "../../errors.ts";
import type { Checkpoint } from "../../sandbox/contract/checkpoint.ts";
import type { Room } from "../admission/budget.ts";
import { ServerError, toPublicError } from "../http/http_errors.ts";
import type { SessionRecordParts } from "./session_record.ts";
import type { RoomedState, StateRoom } from "./state_rooms.ts";

/** The state of a session that hibernates. Disposing the state frees the room and removes the files. */
export interface HibernatedState extends AsyncDisposable {
  /** Memory of the state while the state is read and restored, in bytes; `Infinity` if unknown. */
  readonly transferBytes: number;
  /** Why this server cannot restore the state. The state stays for a server that can, until the session ends. */
  readonly unusable: CheckpointError | undefined;
  /** Keeps the state as a state that this server cannot restore. */
  setUnusable(error: CheckpointError): void;
  /**
   * Returns the state.
   *
   * @throws {CheckpointError} if the file is damaged.
   */
  read(): Promise<Checkpoint>;
  /**
   * Frees the room before the restore, as another session of the owner may need the room to give an interpreter up. A
   * single state of each owner can be without room at a time; further states follow after the restore.
   */
  beginWake(): void;
  /** Takes the room again, as the state was not restored. */
  cancelWake(): void;
  /** Saves the record again if the state is in the directory and usable, as the session has changed. */
  update(): Promise<void>;
  /** Removes the files after the restore, as a later server must not return to them. Throws if the removal fails. */
  removeFiles(): Promise<void>;
  /**
   * Saves the state, so that a later server continues the session. The state stays in the directory after disposal.
   *
   * @throws {ServerError} `busy` or `too_large` if the directory has no room.
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
  /** Returns the present record of the session. */
  describe: () => SessionRecordParts;
  /** Size of the state before compression, if known. */
  readonly stateBytes: number | undefined;
  /** Room of the session: a place among the sessions, and the data of the client. */
  readonly session: Room;
  /** True if a later server continues the session. */
  readonly outlivesServer: boolean;
  /** Starts the copy, while the state is only in memory. */
  copyTimer: ReturnType<typeof setTimeout> | undefined;
  /** The state and the room, while the state is in memory. */
  memory: StateRoom<Checkpoint> | undefined;
  /** Room of the files, while there are files. They may be copies of the state in memory. */
  file: { readonly session: string; readonly room: StateRoom<undefined> } | undefined;
  /** Resolves when the last change of the files has ended. */
  changed: Promise<void>;
  unusable: CheckpointError | undefined;
  /** True if the room is free, as the session wakes. */
  isFree: boolean;
  isDisposed: boolean;
  /** True if the files remain after disposal. */
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
