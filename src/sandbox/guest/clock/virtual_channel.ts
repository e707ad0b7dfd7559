import { encodeLost, FrameKind } from "../../protocol.ts";
import { Channel, type ChannelParts } from "../channel.ts";
import { PACE, type VirtualClock } from "./virtual_clock.ts";

const NOTHING = new Uint8Array(0);
const DAY_MS = 86_400_000;
/** The start of a call and of a reply, with the number of the call. */
const CALL_NUMBER = /^\{"call": ?(\d{1,15})[,}]/;
const HEAD_BYTES = 32;
const decoder = new TextDecoder();

/** A call of a host tool whose reply the program has not got. */
interface OpenCall {
  readonly number: string;
  /** Time of the clock at which the program gets the reply. */
  readonly dueNs: number;
}

/**
 * A worker's connection to the host under a virtual clock. Pauses end at once. The reply to a call arrives at a time that
 * depends on the call alone, however long the host takes: at that time the program stands still until the reply is there.
 */
export class VirtualChannel extends Channel {
  readonly #clock: VirtualClock;
  readonly #interrupt: Uint8Array;
  #calls: OpenCall[] = [];
  readonly #replies = new Map<string, Uint8Array<ArrayBuffer>>();
  /** The reply that {@linkcode VirtualChannel.receive} returns next. */
  #reply: Uint8Array<ArrayBuffer> | undefined;

  constructor(parts: ChannelParts, clock: VirtualClock) {
    super(parts);
    this.#clock = clock;
    this.#interrupt = parts.interrupt;
    clock.onTimeout({
      onLate: () => super.send(FrameKind.late, NOTHING),
      onKill: () => this.#endInterpreter(),
    });
  }

  /** Time in which no program has computed, in milliseconds of the clock. */
  override get waitedMs(): number {
    return this.#clock.waitedMs;
  }

  /** Forgets the calls of the last exec. */
  forgetCalls(): void {
    this.#calls = [];
    this.#replies.clear();
    this.#reply = undefined;
  }

  override send(kind: FrameKind, payload: Uint8Array): void {
    if (kind === FrameKind.display) this.#clock.pass(PACE.output);
    if (kind === FrameKind.call) {
      this.#calls.push({ number: numberOf(payload), dueNs: this.#clock.ns + PACE.call });
    }
    super.send(kind, payload);
  }

  override addOutput(kind: FrameKind, bytes: Uint8Array, start: number, end: number): void {
    this.#clock.pass(PACE.output);
    super.addOutput(kind, bytes, start, end);
  }

  /** Returns true if the program gets a reply within `ms`, to which the clock then jumps. */
  override wait(ms: number): boolean {
    if (this.#reply) return true;
    const [call] = this.#calls;
    const end = this.#clock.after(ms);
    if (!call || call.dueNs > end) {
      this.pause(ms);
      return false;
    }
    this.#clock.waitUntil(call.dueNs);
    while (this.#interrupt[0] === 0) {
      this.#reply = this.#replies.get(call.number);
      if (this.#reply) {
        this.#calls.shift();
        this.#replies.delete(call.number);
        this.#clock.restart();
        return true;
      }
      if (super.wait(DAY_MS)) this.#takeFrame();
    }
    return false;
  }

  override receive(): { kind: number; payload: Uint8Array<ArrayBuffer> } {
    const payload = this.#reply;
    if (!payload) return super.receive();
    this.#reply = undefined;
    return { kind: FrameKind.reply, payload };
  }

  override pause(ms: number): void {
    super.pause(0);
    this.#clock.waitUntil(this.#clock.after(ms));
  }

  #takeFrame(): void {
    const { kind, payload } = super.receive();
    if (kind === FrameKind.reply) this.#replies.set(numberOf(payload), payload);
  }

  /** Reports the end of the interpreter, whose process or worker the host then ends. No code of the program can go on. */
  #endInterpreter(): never {
    super.send(FrameKind.lost, encodeLost("it did not stop when it was interrupted, and was ended"));
    const nothing = new Int32Array(new SharedArrayBuffer(4));
    for (;;) Atomics.wait(nothing, 0, 0);
  }
}

/** Returns the number of the call that a call or a reply begins with. */
function numberOf(payload: Uint8Array): string {
  return CALL_NUMBER.exec(decoder.decode(payload.subarray(0, HEAD_BYTES)))?.[1] ?? "";
}
