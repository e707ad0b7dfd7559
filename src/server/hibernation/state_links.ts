import { join } from "node:path";
import { DRAFT, removeFile, STATE } from "./saved_sessions.ts";
import type { SessionRecord } from "./session_record.ts";

type SavedState = Pick<SessionRecord, "id" | "owner" | "checkpoint">;

/** Files of the states of a folder. Equal states of an owner share a file, with a name for each session. */
export class StateLinks {
  /** False if equal states have a file each, as files of the folder cannot have several names. */
  readonly canLink: boolean;
  readonly #folder: string;
  /** Sessions whose file has a state. */
  readonly #sessions = new Map<string, Set<string>>();
  /** States in the files of sessions. */
  readonly #states = new Map<string, string>();
  /** States whose first file is being written. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(folder: string, { canLink }: { canLink: boolean }) {
    this.#folder = folder;
    this.canLink = canLink;
  }

  /** Lets equal states have the file of a session. */
  add(state: SavedState): void {
    const { id } = state;
    const key = keyOf(state);
    this.remove(id);
    this.#sessions.getOrInsertComputed(key, () => new Set()).add(id);
    this.#states.set(id, key);
  }

  /** Forgets the file of a session. */
  remove(id: string): void {
    const key = this.#states.get(id) ?? "";
    const sessions = this.#sessions.get(key);
    sessions?.delete(id);
    if (sessions?.size === 0) this.#sessions.delete(key);
    this.#states.delete(id);
  }

  /**
   * Gives a session the file of an equal state, or a new file. States that are saved at the same time wait for
   * the first of them.
   *
   * @param size bytes of the file
   */
  async save(state: SavedState, size: number, write: () => Promise<void>): Promise<void> {
    const key = keyOf(state);
    for (;;) {
      await this.#writing.get(key);
      if (await this.#link(state, size)) return this.add(state);
      if (!this.#writing.has(key)) break;
    }
    const written = write().then(() => this.add(state));
    if (this.canLink) this.#writing.set(key, written.catch(() => {}));
    try {
      await written;
    } finally {
      this.#writing.delete(key);
    }
  }

  /** Returns false if no other session has a whole file of the state. */
  async #link(state: SavedState, size: number): Promise<boolean> {
    const tried = new Set([state.id]);
    for (;;) {
      const equal = this.canLink ? this.#sessions.get(keyOf(state)) : undefined;
      const id = equal?.values().find((id) => !tried.has(id));
      if (id === undefined) return false;
      tried.add(id);
      if (await this.#linkTo(id, state, size)) return true;
    }
  }

  async #linkTo(equal: string, { id }: SavedState, size: number): Promise<boolean> {
    const path = join(this.#folder, `${equal}${STATE}`);
    try {
      const found = await Deno.lstat(path);
      if (!found.isFile || found.size !== size) {
        this.remove(equal);
        return false;
      }
      await Deno.link(path, join(this.#folder, `${id}${STATE}`));
      return true;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false; // that session has just woken
      if (error instanceof Deno.errors.AlreadyExists) return false; // an older file is replaced
      throw error;
    }
  }
}

function keyOf({ owner, checkpoint }: SavedState): string {
  return JSON.stringify([owner, checkpoint]);
}

/** True if a file of a folder can have two names. */
export async function canLinkIn(folder: string, file: string): Promise<boolean> {
  const other = join(folder, `${file}${DRAFT}`);
  try {
    await removeFile(other);
    await Deno.link(join(folder, file), other);
    await removeFile(other);
    return true;
  } catch {
    return false; // the file system has no links, and each session has a separate file
  }
}
