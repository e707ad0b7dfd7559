import { SandboxError } from "../../errors.ts";
import { Child, type ChildProgram } from "../process/child.ts";
import { type NetworkSecret, type NetworkSettings, placeholderOf } from "../profile/network.ts";
import type { SecretValues } from "../profile/secret_values.ts";
import { type Frame, FrameKind } from "../protocol.ts";
import type { BrokerBoot, EgressPolicy, NetworkTrial } from "./broker/egress_policy.ts";
import type { Exchange } from "./broker/exchange.ts";
import type { EgressSecret } from "./broker/egress_policy.ts";
import { FixtureWriter, readFixtures } from "./fixtures.ts";

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
  /** Settings of the profile; undefined if it has no network. */
  readonly settings: NetworkSettings | undefined;
  /** Values of the secrets of the profile. */
  readonly secretValues?: SecretValues | undefined;
  /** Settings of a test. */
  readonly trial?: NetworkTrial | undefined;
}

const MAX_SESSIONS = 65_535;

/**
 * The process that makes the connections of a pool's sessions. It starts with the first connection, and again with the
 * next one if it has ended.
 */
export class EgressBroker implements AsyncDisposable {
  readonly #settings: NetworkSettings | undefined;
  readonly #values: SecretValues | undefined;
  readonly #boot: {
    trial: NetworkTrial | undefined;
    exchanges: readonly Exchange[];
    secrets: readonly EgressSecret[];
  };
  #prepared: Promise<void> | undefined;
  #writer: FixtureWriter | undefined;
  #process: BrokerProcess | undefined;
  readonly #ended = new Set<Promise<unknown>>();
  /** True if no process starts any more. */
  #isOver = false;

  constructor({ settings, secretValues, trial }: EgressBrokerOptions) {
    this.#settings = settings;
    this.#values = secretValues;
    this.#boot = { trial, exchanges: [], secrets: [] };
  }

  /**
   * Opens the files of the profile's fixtures, and reads the values of the secrets.
   *
   * @throws {SandboxError} if one cannot be used.
   */
  async prepare(): Promise<void> {
    await (this.#prepared ??= this.#openFiles());
  }

  /** Opens a session. `program` returns the command of the process, if none runs. */
  open(receiver: EgressReceiver, program: () => Promise<ChildProgram>): EgressEnd {
    if (!this.#process?.isAlive && !this.#isOver) this.#start(program);
    const process = this.#process;
    if (process && this.#settings) return process.open(policyOf(this.#settings), receiver);
    receiver.onLost();
    return { send() {}, close() {} };
  }

  /** Ends the process, and waits until it has ended and all exchanges are written. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end();
    await Promise.all(this.#ended);
    await this.#prepared?.catch(() => {}); // the start has reported it
    const writer = this.#writer;
    this.#writer = undefined;
    await writer?.[Symbol.asyncDispose]();
  }

  async #openFiles(): Promise<void> {
    const { record, replay, secrets = {} } = this.#settings ?? {};
    if (replay === undefined) this.#boot.secrets = readSecrets(secrets, this.#values);
    if (record !== undefined) this.#writer = await FixtureWriter.open(record, () => this.#end());
    if (replay === undefined) return;
    try {
      this.#boot.exchanges = await readFixtures(replay);
    } catch (cause) {
      if (cause instanceof SandboxError) throw cause;
      throw new SandboxError(`Cannot replay '${replay}' as the file cannot be read`, { cause });
    }
  }

  #end(): void {
    this.#isOver = true;
    this.#process?.kill();
    this.#process = undefined;
  }

  #start(program: () => Promise<ChildProgram>): void {
    const onExchange = (exchange: Exchange) => this.#writer?.write(exchange);
    const process = this.#process = new BrokerProcess(program(), { boot: this.#boot, onExchange });
    this.#ended.add(process.ended);
    process.ended.then(() => this.#ended.delete(process.ended));
  }
}

/** Returns the broker of a profile's sessions. */
export function openBroker(
  { network, secretValues }: {
    network?: NetworkSettings | undefined;
    secretValues?: SecretValues | undefined;
  },
  trial: NetworkTrial | undefined,
): EgressBroker {
  return new EgressBroker({ settings: network, secretValues, trial });
}

/** Returns what the broker has to know of a profile. */
function policyOf({ record, replay, match, secrets: _, ...settings }: NetworkSettings): EgressPolicy {
  const fixtures = record !== undefined ? "record" : replay !== undefined ? "replay" : undefined;
  return { ...settings, match, fixtures };
}

/** Value of a secret: one line without blanks, long enough not to occur in other text. */
const SECRET_VALUE = /^[\x21-\x7e]{8,4096}$/;

function readSecrets(
  secrets: Readonly<Record<string, NetworkSecret>>,
  values: SecretValues | undefined,
): EgressSecret[] {
  return Object.entries(secrets).map(([name, { env, hosts, in: places }]) => {
    const value = values?.get(env);
    if (value !== undefined && SECRET_VALUE.test(value)) {
      return { placeholder: placeholderOf(name), value, hosts, in: places };
    }
    const found = value === undefined ? "there is none" : `current value has ${value.length} characters`;
    throw new SandboxError(
      `Cannot use secret '${name}' as '${env}' must be set to 8 to 4096 characters of ASCII without blanks: ${found}`,
    );
  });
}

interface BrokerProcessOptions {
  readonly boot: BrokerBoot;
  readonly onExchange: (exchange: Exchange) => void;
}

class BrokerProcess {
  /** Resolves when the process has ended, or could not be started. */
  readonly ended: Promise<void>;
  isAlive = true;
  readonly #options: BrokerProcessOptions;
  readonly #sessions = new Map<number, EgressReceiver>();
  #child: Child | undefined;
  /** Frames for a process that has not started yet. */
  readonly #queue: (() => void)[] = [];
  #isKilled = false;
  #lastNumber = 0;

  constructor(program: Promise<ChildProgram>, options: BrokerProcessOptions) {
    this.#options = options;
    this.ended = this.#run(program).catch(() => {}); // the connections report that they are lost
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

  async #run(program: Promise<ChildProgram>): Promise<void> {
    try {
      const command = await program;
      if (this.#isKilled) return;
      const child = this.#child = new Child(command, (frame) => this.#receive(frame));
      child.send(FrameKind.boot, 0, JSON.stringify(this.#options.boot));
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
    else if (kind === FrameKind.exchange) {
      this.#options.onExchange(JSON.parse(new TextDecoder().decode(payload)));
    }
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
