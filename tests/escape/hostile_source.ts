import type { CheckpointScope } from "../../src/sandbox/checkpoint/checkpoint.ts";
import { CheckpointCompressor } from "../../src/sandbox/checkpoint/compression.ts";
import { createKey } from "../../src/sandbox/checkpoint/host_key.ts";
import { Child } from "../../src/sandbox/process/child.ts";
import { GuestLink, terminationOf } from "../../src/sandbox/guest_link.ts";
import type { Layer } from "../../src/sandbox/process/layers.ts";
import type { Profile } from "../../src/sandbox/profile/profile.ts";
import { encodeFrame, FrameKind, join } from "../../src/sandbox/protocol.ts";
import type { LinkSource } from "../../src/sandbox/session.ts";

const CHILD = decodeURIComponent(new URL("hostile_child.js", import.meta.url).pathname);
const SESSION = 1;
/** Maximum size of a state of its sessions. */
export const MAX_STATE_BYTES = 1 << 20;
const encoder = new TextEncoder();

/** A source of fake interpreters: each is a process that responds to every request with `answer`. */
export class HostileSource implements LinkSource, AsyncDisposable {
  readonly profile: Profile;
  readonly layers: ReadonlySet<Layer> = new Set<Layer>();
  readonly #answer: string;
  readonly #children: Child[] = [];
  readonly #compressor = new CheckpointCompressor();
  #key: Promise<CryptoKey> | undefined;

  private constructor(profile: Profile, answer: string) {
    this.profile = profile;
    this.#answer = answer;
  }

  static async create(profile: Profile, answer: Uint8Array): Promise<HostileSource> {
    const path = await Deno.makeTempFile();
    await Deno.writeFile(path, answer);
    return new HostileSource(profile, path);
  }

  /** Processes that still run. */
  async alive(): Promise<number> {
    const ended = await Promise.all(this.#children.map((child) => Promise.race([child.ended, null])));
    return ended.filter((end) => end === null).length;
  }

  /** Number of processes that were started. */
  get started(): number {
    return this.#children.length;
  }

  async checkpointScope(): Promise<CheckpointScope> {
    const hash = "0".repeat(64);
    const key = await (this.#key ??= createKey());
    return { key, image: hash, profile: hash, maxBytes: MAX_STATE_BYTES, compressor: this.#compressor };
  }

  openCopy(): Promise<never> {
    return Promise.reject(new Error("it has no copies"));
  }

  async openLink(): Promise<GuestLink> {
    const args = [
      "run",
      "--quiet",
      "--no-config",
      "--no-lock",
      `--allow-read=${this.#answer}`,
      CHILD,
      this.#answer,
    ];
    const env = { DENO_DIR: "/proc/nope", DENO_NO_UPDATE_CHECK: "1" };
    const child: Child = new Child({ program: Deno.execPath(), args, env }, (frame) => link.receive(frame));
    const link = new GuestLink(child, SESSION, { kill: () => child.kill() });
    child.ended.then((end) => link.fail(terminationOf(end)));
    this.#children.push(child);
    link.send(FrameKind.open, "{}");
    await link.opened;
    return link;
  }

  /** Waits until the last child but one has ended: it was killed without waiting for its end. */
  async firstEnd(): Promise<{ signal: string | null }> {
    const [first] = this.#children;
    if (!first) throw new Error("no child was started");
    return await first.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill();
    await Promise.all(this.#children.map((child) => child.ended));
    await this.#compressor[Symbol.asyncDispose]();
    await Deno.remove(this.#answer);
  }
}

/** Returns a frame of the session. Its kind is a name or any number. */
export function frame(kind: keyof typeof FrameKind | number, payload: Uint8Array | string = ""): Uint8Array {
  const number = (typeof kind === "number" ? kind : FrameKind[kind]) as FrameKind;
  return encodeFrame(number, SESSION, payload);
}

/** Parts of an outcome of an exec, each of which may be invalid. */
export interface OutcomeParts {
  /** A number of the statuses, or any other one. */
  readonly status?: number;
  readonly flag?: number;
  readonly texts?: readonly (string | Uint8Array)[];
  /** Lengths that the head announces. */
  readonly lengths?: readonly number[];
  /** Counts of refused attempts, as JSON. */
  readonly denied?: string;
}

/** Returns the bytes of an outcome. */
export function outcomeOf(parts: OutcomeParts = {}): Uint8Array {
  const { status = 0, flag = 0, texts = [], denied = "" } = parts;
  const bytes = texts.map((text) => typeof text === "string" ? encoder.encode(text) : text);
  const lengths = parts.lengths ?? [0, 1, 2].map((index) => bytes[index]?.length ?? 0);
  const head = new Uint8Array(14);
  const view = new DataView(head.buffer);
  head[0] = status;
  head[1] = flag;
  lengths.forEach((length, index) => view.setUint32(2 + 4 * index, length, true));
  return concat(head, ...bytes, encoder.encode(denied));
}

/** Returns the payload of a `result` frame. */
export function resultPayload(
  outcome: Uint8Array,
  { flags = 0, note = "", noteBytes, peakMemoryBytes = 0 }: {
    flags?: number;
    note?: string;
    noteBytes?: number;
    peakMemoryBytes?: number;
  } = {},
): Uint8Array {
  const notes = encoder.encode(note);
  const head = new Uint8Array(9);
  head[0] = flags;
  const view = new DataView(head.buffer);
  view.setUint32(1, noteBytes ?? notes.length, true);
  view.setUint32(5, peakMemoryBytes, true);
  return concat(head, notes, outcome);
}

/** Returns a `result` frame that ends an exec. */
export function result(
  outcome: OutcomeParts = {},
  extra: Parameters<typeof resultPayload>[1] = {},
): Uint8Array {
  return frame("result", resultPayload(outcomeOf(outcome), extra));
}

/** Returns a `result` frame that ends a command line, with any value. */
export function shellResult(outcome: unknown): Uint8Array {
  return frame("result", resultPayload(encoder.encode(JSON.stringify(outcome))));
}

export function concat(...pieces: Uint8Array[]): Uint8Array {
  return join(pieces);
}
