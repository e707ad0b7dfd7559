import { Child } from "../../src/sandbox/process/child.ts";
import { GuestLink, terminationOf } from "../../src/sandbox/guest_link.ts";
import type { Layer } from "../../src/sandbox/process/layers.ts";
import type { Profile } from "../../src/sandbox/profile/profile.ts";
import { encodeFrame, FrameKind } from "../../src/sandbox/protocol.ts";
import type { LinkSource } from "../../src/sandbox/session.ts";

const CHILD = decodeURIComponent(new URL("hostile_child.js", import.meta.url).pathname);
const SESSION = 1;

/** A source of fake interpreters: each is a process that responds to every request with `answer`. */
export class HostileSource implements LinkSource, AsyncDisposable {
  readonly profile: Profile;
  readonly layers: ReadonlySet<Layer> = new Set<Layer>();
  readonly #answer: string;
  readonly #children: Child[] = [];

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
    await Deno.remove(this.#answer);
  }
}

/** Returns a frame of the session. Its kind is a name or any number. */
export function frame(kind: keyof typeof FrameKind | number, payload: Uint8Array | string = ""): Uint8Array {
  const number = (typeof kind === "number" ? kind : FrameKind[kind]) as FrameKind;
  return encodeFrame(number, SESSION, payload);
}

/** Returns a `result` frame with any value. */
export function result(outcome: unknown, extra: object = {}): Uint8Array {
  return frame("result", JSON.stringify({ truncated: false, flooded: false, outcome, ...extra }));
}

export function concat(...pieces: Uint8Array[]): Uint8Array {
  return new Uint8Array(pieces.flatMap((piece) => [...piece]));
}
