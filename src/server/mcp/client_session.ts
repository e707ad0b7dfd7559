import type { ExecOptions, ExecResult } from "../../sandbox/exec.ts";
import type { LiveSession, SessionFile } from "../sessions/live_session.ts";
import { ServerError } from "../http/errors.ts";

const MAX_IMAGES = 8;
const MAX_IMAGE_BYTES = 4 * 1024 * 1024;
const PNG_HEAD = "89504e470d0a1a0a";

/** Result of a client's program. */
export interface ClientRun {
  readonly result: ExecResult;
  /** Output of both streams, in order. */
  readonly output: string;
  /** PNG files that it wrote. */
  readonly images: readonly Uint8Array[];
  /** True if the variables of earlier calls are lost. */
  readonly isFresh: boolean;
}

/** Options of {@linkcode ClientSession.run}. */
export interface ClientRunOptions extends Pick<ExecOptions, "inputs" | "onOutput"> {
  readonly signal: AbortSignal;
}

/** Session of one client, opened at its first use and reopened after it has ended. */
export class ClientSession implements AsyncDisposable {
  readonly #open: () => Promise<LiveSession>;
  #opening: Promise<LiveSession> | undefined;
  #wasLost = false;

  constructor(open: () => Promise<LiveSession>) {
    this.#open = open;
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

  #start(): Promise<LiveSession> {
    const opening = this.#open();
    opening.catch(() => this.#opening = undefined); // the next call tries again
    return opening;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const session = await this.#opening?.catch(() => undefined); // it was never opened
    await session?.[Symbol.asyncDispose]();
  }
}

/** Returns the PNG files of a session by path; none if the program has broken the listing. */
async function pngs(session: LiveSession, signal: AbortSignal): Promise<Map<string, SessionFile>> {
  const files = await session.listFiles(signal).catch(ignoreUnlistable);
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
