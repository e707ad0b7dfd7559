import type { ExecOptions, ExecResult } from "../../sandbox/exec.ts";
import type { LiveSession, SessionFile } from "../live_session.ts";
import { ServerError } from "../server_error.ts";

const MAX_IMAGES = 8;
const MAX_IMAGE_BYTES = 4 * 1024 * 1024;
const PNG_HEAD = "89504e470d0a1a0a";

/** What a program of a client's came to. */
export interface ClientRun {
  readonly result: ExecResult;
  /** What it printed to either stream, in order. */
  readonly output: string;
  /** The PNGs that it wrote. */
  readonly images: readonly Uint8Array[];
  /** True when variables of earlier calls are gone. */
  readonly isFresh: boolean;
}

/** How a program of a client's is run. */
export interface ClientRunOptions extends Pick<ExecOptions, "onOutput"> {
  /** A program that sets what it needs. */
  readonly before?: string | undefined;
  readonly signal: AbortSignal;
}

/** The session of one client: opened when it first needs one, and again when it has ended for want of use. */
export class ClientSession implements AsyncDisposable {
  readonly #open: () => Promise<LiveSession>;
  #opening: Promise<LiveSession> | undefined;
  #wasLost = false;

  constructor(open: () => Promise<LiveSession>) {
    this.#open = open;
  }

  /** The session as it is now. */
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
  async run(code: string, { before, signal, onOutput }: ClientRunOptions): Promise<ClientRun> {
    const session = await this.current();
    const isFresh = this.#wasLost;
    this.#wasLost = false;
    const had = await pngs(session, signal);
    if (before !== undefined) await session.exec(before, { signal });
    const pieces: string[] = [];
    const result = await session.exec(code, {
      signal,
      onOutput(stream, text) {
        pieces.push(text);
        onOutput?.(stream, text);
      },
    });
    const images = result.stateKept ? await newImages(session, had, signal) : [];
    return { result, output: pieces.join(""), images, isFresh: isFresh || result.restarted === true };
  }

  #start(): Promise<LiveSession> {
    const opening = this.#open();
    opening.catch(() => this.#opening = undefined); // the next who asks tries again
    return opening;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const session = await this.#opening?.catch(() => undefined); // one that never opened is over
    await session?.[Symbol.asyncDispose]();
  }
}

/** The PNGs of a session by their paths; none when its program has broken the listing. */
async function pngs(session: LiveSession, signal: AbortSignal): Promise<Map<string, SessionFile>> {
  const files = await session.listFiles(signal).catch(unlistable);
  return new Map(files.filter(({ path }) => path.endsWith(".png")).map((file) => [file.path, file]));
}

function unlistable(error: unknown): SessionFile[] {
  if (error instanceof ServerError && error.fault === "conflict") return [];
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
  return images.filter(isPng); // one that went away meanwhile is none
}

/** Whether bytes begin as a PNG does. */
export function isPng(bytes: Uint8Array): boolean {
  return bytes.length <= MAX_IMAGE_BYTES && bytes.subarray(0, 8).toHex() === PNG_HEAD;
}
