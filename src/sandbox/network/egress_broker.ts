import { Child, type ChildProgram } from "../process/child.ts";
import { type Frame, FrameKind } from "../protocol.ts";
import type { EgressPolicy, NetworkTrial } from "./broker/egress_policy.ts";

/** Receiver of what the broker sends to a session. */
export interface EgressReceiver {
  onPacket(packet: Uint8Array<ArrayBuffer>): void;
  /** The broker's process has ended: all connections are lost. */
  onLost(): void;
}

/** A session's end of the broker. */
export interface EgressEnd {
  send(packet: Uint8Array): void;
  /** Closes all connections. Further calls have no effect. */
  close(): void;
}

/** Options of {@linkcode EgressBroker}. */
export interface EgressBrokerOptions {
  /** Settings of a test. */
  readonly trial?: NetworkTrial | undefined;
}

const MAX_SESSIONS = 65_535;

/**
 * The process that makes the connections of a pool's sessions. It starts with the first connection, and again with the
 * next one if it has ended.
 */
export class EgressBroker implements AsyncDisposable {
  readonly #trial: NetworkTrial | undefined;
  #process: BrokerProcess | undefined;
  readonly #ended = new Set<Promise<unknown>>();
  #isDisposed = false;

  constructor({ trial }: EgressBrokerOptions = {}) {
    this.#trial = trial;
  }

  /** Opens a session. `program` returns the command of the process, if none runs. */
  open(policy: EgressPolicy, receiver: EgressReceiver, program: () => Promise<ChildProgram>): EgressEnd {
    if (!this.#process?.isAlive && !this.#isDisposed) this.#start(program);
    const process = this.#process;
    if (process) return process.open(policy, receiver);
    receiver.onLost();
    return { send() {}, close() {} };
  }

  /** Ends the process, and waits until it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#process?.kill();
    this.#process = undefined;
    await Promise.all(this.#ended);
  }

  #start(program: () => Promise<ChildProgram>): void {
    const process = this.#process = new BrokerProcess(program(), this.#trial);
    this.#ended.add(process.ended);
    process.ended.then(() => this.#ended.delete(process.ended));
  }
}

class BrokerProcess {
  readonly ended: Promise<unknown>;
  isAlive = true;
  readonly #sessions = new Map<number, EgressReceiver>();
  #child: Child | undefined;
  /** Frames for a process that has not started yet. */
  readonly #queue: (() => void)[] = [];
  #isKilled = false;
  #lastNumber = 0;

  constructor(program: Promise<ChildProgram>, trial: NetworkTrial | undefined) {
    this.ended = this.#run(program, trial);
  }

  open(policy: EgressPolicy, receiver: EgressReceiver): EgressEnd {
    const number = this.#freeNumber();
    this.#sessions.set(number, receiver);
    this.#send(FrameKind.open, number, JSON.stringify(policy));
    return {
      send: (packet) => this.#sessions.has(number) && this.#send(FrameKind.network, number, packet),
      close: () => {
        if (this.#sessions.delete(number)) this.#send(FrameKind.close, number);
      },
    };
  }

  kill(): void {
    this.#isKilled = true;
    this.#child?.kill();
  }

  async #run(program: Promise<ChildProgram>, trial: NetworkTrial | undefined): Promise<void> {
    try {
      const command = await program;
      if (this.#isKilled) return;
      const child = this.#child = new Child(command, (frame) => this.#receive(frame));
      child.send(FrameKind.boot, 0, JSON.stringify(trial ?? {}));
      for (const send of this.#queue.splice(0)) send();
      await child.ended;
    } finally {
      this.isAlive = false;
      for (const receiver of [...this.#sessions.values()]) receiver.onLost();
      this.#sessions.clear();
    }
  }

  #receive({ kind, session, payload }: Frame): void {
    if (kind === FrameKind.packet) this.#sessions.get(session)?.onPacket(payload);
  }

  #send(kind: FrameKind, session: number, payload?: Uint8Array | string): void {
    if (this.#child) this.#child.send(kind, session, payload);
    else this.#queue.push(() => this.#child?.send(kind, session, payload));
  }

  #freeNumber(): number {
    do this.#lastNumber = this.#lastNumber % MAX_SESSIONS + 1; while (this.#sessions.has(this.#lastNumber));
    return this.#lastNumber;
  }
}
