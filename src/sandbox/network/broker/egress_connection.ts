import type { NetworkRule } from "../../guest/network_rules.ts";
import {
  decodeCount,
  decodeJson,
  type Packet,
  PacketKind,
  type TlsResult,
  WINDOW_BYTES,
} from "../packets.ts";
import { dial, type DialOptions, resolveHost, type Target, toEgressError, within } from "./dial.ts";
import { EgressError, type EgressPolicy, handshakeRefusal } from "./egress_policy.ts";
import type { Exchange, ExchangeMatch, RecordedResponse } from "./exchange.ts";
import { GuardedResponses } from "./guarded_responses.ts";
import { Recorder } from "./recorder.ts";
import { RequestError } from "./request_head.ts";
import { RequestGate } from "./request_gate.ts";
import type { EgressSecret } from "./egress_policy.ts";
import { SecretGuard } from "./secret_guard.ts";
import { ResponseTracker } from "./response_tracker.ts";
import { ResponseWatch } from "./response_watch.ts";

/** Options of {@linkcode EgressConnection}. */
export interface EgressConnectionOptions extends DialOptions, Target {
  readonly rule: NetworkRule;
  readonly methods?: EgressPolicy["methods"];
  /** Secrets of the profile. */
  readonly secrets?: readonly EgressSecret[] | undefined;
  /** Receiver of exchanges, if they are recorded. */
  readonly record?:
    | { readonly match: ExchangeMatch; readonly onExchange: (exchange: Exchange) => void }
    | undefined;
  readonly send: (kind: PacketKind, body?: Uint8Array | number | object) => void;
  /** Called once, when nothing is open any more. */
  readonly onEnd: () => void;
}

const READ_BYTES = 64 * 1024;
const PROTOCOLS = ["http/1.1"];

/**
 * One connection to a host that the profile lists. Packets of the guest are handled one after the other. At most
 * {@linkcode WINDOW_BYTES} of a direction are in memory.
 */
export class EgressConnection {
  readonly #options: EgressConnectionOptions;
  #gate: RequestGate | undefined;
  readonly #recorder: Recorder | undefined;
  readonly #tracker = new ResponseTracker();
  #guard: SecretGuard | undefined;
  #guarded: GuardedResponses | undefined;
  #conn: Deno.Conn | undefined;
  #address: string | undefined;
  #work: Promise<void> = Promise.resolve();
  #credit = WINDOW_BYTES;
  #unreported = 0;
  #wakeReader: (() => void) | undefined;
  #watch: ResponseWatch | undefined;
  #isReading = false;
  #isSecure = false;
  /** True once a byte has passed in either direction, so that TLS cannot begin any more. */
  #isUsed = false;
  #hasEnded = false;

  constructor(options: EgressConnectionOptions) {
    this.#options = options;
    const { host, port, record } = options;
    const origin = () => `${this.#isSecure ? "https" : "http"}://${host}:${port}`;
    const scrub = (response: RecordedResponse) => this.#guard?.scrub(response) ?? response;
    this.#recorder = record && new Recorder({ ...record, origin, scrub });
    this.#enqueue(() => this.#open());
  }

  /** Handles a packet of the guest. */
  receive({ kind, body }: Packet): void {
    if (kind === PacketKind.close) this.close();
    else if (kind === PacketKind.credit) this.#addCredit(decodeCount(body));
    else if (kind === PacketKind.send) this.#enqueue(() => this.#send(body));
    else if (kind === PacketKind.tls) this.#enqueue(() => this.#startTls(body));
    else if (kind === PacketKind.end) this.#enqueue(() => this.#endOutput());
    else if (kind === PacketKind.ready) this.#enqueue(() => Promise.resolve(this.#startReading()));
  }

  /** Closes the connection. */
  close(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#wakeReader?.();
    closeQuietly(this.#conn);
    this.#options.onEnd();
  }

  #enqueue(work: () => Promise<void>): void {
    this.#work = this.#work.then(async () => {
      if (!this.#hasEnded) await work();
    }).catch((error) => this.#fail(error));
  }

  #fail(error: unknown): void {
    if (this.#hasEnded) return;
    const { host } = this.#options;
    const { code, message } = error instanceof RequestError
      ? new EgressError("EACCES", `a request to '${host}' was refused: ${error.message}`)
      : toEgressError(error);
    this.#options.send(PacketKind.failed, { code, message });
    this.close();
  }

  async #open(): Promise<void> {
    const { host, send } = this.#options;
    const addresses = await resolveHost(host, this.#options);
    this.#conn = await this.#dial(addresses);
    if (this.#hasEnded) return closeQuietly(this.#conn);
    send(PacketKind.opened);
  }

  async #dial(addresses: readonly string[]): Promise<Deno.TcpConn> {
    const conn = await dial(addresses, this.#options);
    conn.setNoDelay();
    this.#address = conn.remoteAddr.hostname;
    return conn;
  }

  async #send(body: Uint8Array<ArrayBuffer>): Promise<void> {
    if (!this.#options.rule.isRaw) this.#gate ??= this.#createGate();
    this.#isUsed = true;
    const pieces = this.#gate ? this.#gate.push(body) : [body];
    if (this.#gate?.isUpgrading) this.#watch ??= new ResponseWatch();
    await this.#write(pieces);
    this.#reportSent(body.length);
    this.#startReading();
  }

  /** Returns the gate of the requests. Secrets are filled in if the connection has TLS. */
  #createGate(): RequestGate {
    const { secrets = [], host, send } = this.#options;
    const own = secrets.filter(({ hosts }) => hosts.includes(host));
    if (this.#isSecure && own.length > 0) {
      const guard = this.#guard = new SecretGuard(own);
      this.#guarded = new GuardedResponses((response) => guard.scrub(response), {
        onData: (piece) => send(PacketKind.data, piece),
        onEnd: () => send(PacketKind.ended),
      });
    }
    const listeners = [this.#tracker, this.#guarded, this.#recorder?.requests].filter((each) =>
      each !== undefined
    );
    return new RequestGate({
      ...this.#options,
      listeners,
      isIdle: () => this.#tracker.isIdle,
      rewrite: this.#guard && ((head) => this.#guard?.fill(head) ?? head),
    });
  }

  /** Reports sent bytes. Few are reported with later ones, as each report wakes the program. */
  #reportSent(bytes: number): void {
    this.#unreported += bytes;
    if (this.#unreported < WINDOW_BYTES / 4) return;
    this.#options.send(PacketKind.sent, this.#unreported);
    this.#unreported = 0;
  }

  async #write(pieces: readonly Uint8Array[]): Promise<void> {
    for (const piece of pieces) {
      for (let done = 0; done < piece.length && !this.#hasEnded;) {
        done += await this.#conn?.write(piece.subarray(done)) ?? piece.length;
      }
    }
  }

  async #endOutput(): Promise<void> {
    this.#startReading();
    if (!this.#isSecure) await this.#conn?.closeWrite(); // the end of TLS is the end of both directions
  }

  /** Begins TLS with the name of the connection. A connection that was used cannot. */
  async #startTls(body: Uint8Array): Promise<void> {
    const { host, send } = this.#options;
    const refusal = handshakeRefusal(decodeJson(body)?.hostname, { host, isUsed: this.#isUsed });
    const result = refusal ?? await this.#handshake();
    send(PacketKind.secured, result);
    if (result.error !== undefined) this.close();
  }

  async #handshake(): Promise<TlsResult> {
    const { host, timeoutMs, trial, rule } = this.#options;
    try {
      if (this.#isReading) await this.#dialAgain();
      const secure = await within(
        Deno.startTls(this.#conn as Deno.TcpConn, {
          hostname: host,
          ...(!rule.isRaw && { alpnProtocols: PROTOCOLS }),
          ...(trial?.certificates && { caCerts: [...trial.certificates] }),
        }),
        timeoutMs,
        closeQuietly,
      );
      this.#conn = secure;
      this.#isSecure = true;
      const { alpnProtocol } = await within(secure.handshake(), timeoutMs);
      if (this.#hasEnded) closeQuietly(secure);
      return { host, ...(alpnProtocol !== null && { alpn: alpnProtocol }) };
    } catch (error) {
      return { error: toEgressError(error).message, isCertificate: error instanceof Deno.errors.InvalidData };
    }
  }

  /** Connects again to the same address, as a read that has begun cannot be taken back. */
  async #dialAgain(): Promise<void> {
    const old = this.#conn;
    this.#conn = undefined;
    closeQuietly(old);
    this.#conn = await this.#dial([this.#address ?? ""]);
    this.#isReading = false;
  }

  #startReading(): void {
    if (this.#isReading || !this.#conn) return;
    this.#isReading = true;
    this.#read(this.#conn).catch((error) => this.#fail(error));
  }

  async #read(conn: Deno.Conn): Promise<void> {
    const buffer = new Uint8Array(READ_BYTES);
    while (this.#conn === conn && !this.#hasEnded) {
      const room = this.#room();
      if (room === 0) {
        await this.#waitForCredit();
        continue;
      }
      const count = await this.#readOnce(conn, buffer.subarray(0, Math.min(room, READ_BYTES)));
      if (this.#conn !== conn || this.#hasEnded) return;
      if (count === null) {
        if (this.#isUsed) this.#recorder?.push(undefined);
        return this.#guarded ? this.#guarded.push(undefined) : this.#options.send(PacketKind.ended);
      }
      this.#isUsed = true;
      if (!this.#guarded) this.#credit -= count;
      this.#deliver(buffer.slice(0, count));
    }
  }

  /** Reads once. A read of a connection that {@linkcode EgressConnection.#dialAgain} closed has no error. */
  async #readOnce(conn: Deno.Conn, target: Uint8Array<ArrayBuffer>): Promise<number | null> {
    try {
      return await conn.read(target);
    } catch (error) {
      if (this.#conn !== conn) return null;
      throw error;
    }
  }

  #deliver(bytes: Uint8Array<ArrayBuffer>): void {
    this.#recorder?.push(bytes);
    if (this.#gate && !this.#watch) this.#tracker.push(bytes);
    if (this.#guarded) return this.#guarded.push(bytes);
    const isAccepted = this.#watch?.push(bytes);
    this.#options.send(PacketKind.data, bytes);
    if (isAccepted === undefined) return;
    this.#watch = undefined;
    this.#enqueue(() => this.#write(this.#gate?.endUpgrade({ isAccepted }) ?? []));
  }

  /** Returns how many bytes may be read. Responses with secrets are read whole, and one after the other. */
  #room(): number {
    if (!this.#guarded) return this.#credit;
    return this.#guarded.window.isEmpty ? READ_BYTES : 0;
  }

  #addCredit(bytes: number): void {
    if (this.#guarded) this.#guarded.window.addCredit(bytes);
    else this.#credit = Math.min(this.#credit + bytes, WINDOW_BYTES);
    this.#wakeReader?.();
  }

  async #waitForCredit(): Promise<void> {
    await new Promise<void>((resolve) => this.#wakeReader = resolve);
    this.#wakeReader = undefined;
  }
}

function closeQuietly(conn: Deno.Conn | undefined): void {
  try {
    conn?.close();
  } catch {
    // it is closed already
  }
}
