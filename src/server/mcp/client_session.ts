import type { ExecOptions, ExecResult } from "../../sandbox/contract/exec.ts";
import type { CheckpointService } from "../checkpoints/checkpoint_service.ts";
import type { HeldCheckpoint } from "../checkpoints/checkpoint_store.ts";
import { ServerError } from "../http/http_errors.ts";
import { MAX_MCP_CHECKPOINTS } from "../limits.ts";
import type { LiveSession } from "../sessions/live_session.ts";
import type { SessionFile } from "../sessions/files/session_files.ts";

const MAX_IMAGES = 8;
const MAX_IMAGE_BYTES = 4 * 1024 * 1024;
const PNG_HEAD = "89504e470d0a1a0a";

/** Result of a client's program. */
export interface ClientRun {
  readonly result: ExecResult;
  /** Output of both streams, in order. */
  readonly output: string;
  /** PNG files that the call wrote. */
  readonly images: readonly Uint8Array[];
  /** True if the variables of earlier calls are lost. */
  readonly isFresh: boolean;
}

/** Options of {@linkcode ClientSession.run}. */
export interface ClientRunOptions extends Pick<ExecOptions, "inputs" | "onOutput"> {
  readonly signal: AbortSignal;
}

/** A checkpoint that was made for a client. */
export interface ClientCheckpoint {
  /** Name among the sessions of the client: `c1`, `c2`, … */
  readonly name: string;
  /** Name of the client's oldest checkpoint, if that was deleted to make room. */
  readonly deleted?: string | undefined;
  /** True if the variables of earlier calls were lost before this session was made. */
  readonly isFresh: boolean;
}

/**
 * Session of a client, opened at the first use and reopened after an end. The session has the client's checkpoints,
 * which no other client can restore and which are deleted with the session.
 */
export class ClientSession implements AsyncDisposable {
  readonly #open: () => Promise<LiveSession>;
  readonly #service: CheckpointService | undefined;
  /** Checkpoints by name, oldest first. */
  readonly #checkpoints = new Map<string, HeldCheckpoint>();
  #made = 0;
  #isDisposed = false;
  #opening: Promise<LiveSession> | undefined;
  #wasLost = false;

  /** @param checkpoints makes the client's checkpoints; without this function, the client can make none. */
  constructor(open: () => Promise<LiveSession>, checkpoints?: CheckpointService) {
    this.#open = open;
    this.#service = checkpoints;
  }

  /** True if the client can make checkpoints. */
  get hasCheckpoints(): boolean {
    return this.#service !== undefined;
  }

  /** Returns the current session. */
  async current(): Promise<LiveSession> {
    const opening = this.#opening ??= this.#start();
    const session = await opening;
    if (!session.ended) return session;
    if (this.#opening === opening) {
      this.#opening = undefined;
      this.#wasLost = true;
    }
    return await this.current();
  }

  /** Runs a program. */
  async run(code: string, { inputs, signal, onOutput }: ClientRunOptions): Promise<ClientRun> {
    const session = await this.current();
    const isFresh = this.#wasLost;
    this.#wasLost = false;
    const had = await pngs(session, signal);
    const pieces: string[] = [];
    const result = await session.exec(code, {
      inputs,
      signal,
      onOutput(stream, text) {
        pieces.push(text);
        onOutput?.(stream, text);
      },
    });
    const images = result.stateKept ? await newImages(session, had, signal) : [];
    return { result, output: pieces.join(""), images, isFresh: isFresh || result.restarted === true };
  }

  /**
   * Keeps the state of the session. Beyond 32 checkpoints the oldest checkpoint is deleted.
   *
   * @throws {ServerError} `conflict` if there is no room, or the session has what no checkpoint has.
   */
  async checkpoint(signal: AbortSignal): Promise<ClientCheckpoint> {
    const session = await this.current();
    const held = await this.#requireService().hold(session, signal);
    if (this.#isDisposed) {
      held[Symbol.dispose]();
      throw new ServerError("conflict", "The session has ended");
    }
    const name = `c${++this.#made}`;
    this.#checkpoints.set(name, held);
    const [oldest] = this.#checkpoints.keys();
    const isFull = this.#checkpoints.size > MAX_MCP_CHECKPOINTS;
    if (isFull && oldest !== undefined) this.#delete(oldest);
    return { name, deleted: isFull ? oldest : undefined, isFresh: this.#wasLost };
  }

  /**
   * Returns the session to a checkpoint. If the session has ended, another session is opened in that state.
   *
   * @throws {ServerError} `not_found` if the client has no such checkpoint.
   */
  async restore(name: string, signal: AbortSignal): Promise<void> {
    const service = this.#requireService();
    const held = this.#checkpoints.get(name);
    if (held === undefined) throw new ServerError("not_found", this.#describeMissing(name));
    await service.restoreHeld(await this.current(), held, signal);
    this.#wasLost = false;
  }

  #requireService(): CheckpointService {
    if (this.#service !== undefined) return this.#service;
    throw new ServerError(
      "invalid",
      "Cannot use checkpoints as the server does not offer them to its clients",
    );
  }

  #describeMissing(name: string): string {
    const [first, ...others] = this.#checkpoints.keys();
    const found = [first, others.at(-1)].filter((name) => name !== undefined).join(" to ") || "none";
    return `Cannot restore checkpoint as it must be one that you have made: found '${
      name.slice(0, 80)
    }', you have ${found}`;
  }

  #delete(name: string): void {
    this.#checkpoints.get(name)?.[Symbol.dispose]();
    this.#checkpoints.delete(name);
  }

  #start(): Promise<LiveSession> {
    const opening = this.#open();
    opening.catch(() => this.#opening = undefined); // the next call tries again
    return opening;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    for (const name of [...this.#checkpoints.keys()]) this.#delete(name);
    const session = await this.#opening?.catch(() => undefined); // never opened
    await session?.[Symbol.asyncDispose]();
  }
}

/** Returns the PNG files of a session by path; none if the program has broken the listing. */
async function pngs(session: LiveSession, signal: AbortSignal): Promise<Map<string, SessionFile>> {
  const files = await session.files.list(signal).catch(ignoreUnlistable);
  return new Map(files.filter(({ path }) => path.endsWith(".png")).map((file) => [file.path, file]));
}

function ignoreUnlistable(error: unknown): SessionFile[] {
  if (error instanceof ServerError && error.code === "conflict") return [];
  throw error;
}

async function newImages(
  session: LiveSession,
  had: ReadonlyMap<string, SessionFile>,
  signal: AbortSignal,
): Promise<Uint8Array[]> {
  const written = [...(await pngs(session, signal)).values()].filter(({ path, bytes, writtenNs }) => {
    const old = had.get(path);
    return bytes <= MAX_IMAGE_BYTES && (old?.bytes !== bytes || old.writtenNs !== writtenNs);
  });
  const images = await Promise.all(
    written.slice(0, MAX_IMAGES).map(({ path }) => session.readFile(path).catch(() => new Uint8Array())),
  );
  return images.filter(isPng); // a file may have been removed
}

/** True if the bytes begin with the PNG signature. */
export function isPng(bytes: Uint8Array): boolean {
  return bytes.length <= MAX_IMAGE_BYTES && bytes.subarray(0, 8).toHex() === PNG_HEAD;
}
