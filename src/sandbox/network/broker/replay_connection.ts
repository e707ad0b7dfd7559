import { decodeCount, decodeJson, type Packet, PacketKind } from "../packets.ts";
import type { Target } from "./dial.ts";
import { EgressError, type EgressPolicy, handshakeRefusal } from "./egress_policy.ts";
import {
  type ExchangeMatch,
  type RecordedRequest,
  type RecordedResponse,
  toRecordedRequest,
  toResponseBytes,
  type WholeRequest,
} from "./exchange.ts";
import { OutputWindow } from "./output_window.ts";
import { RequestCollector } from "./request_collector.ts";
import { RequestGate } from "./request_gate.ts";
import { RequestError } from "./request_head.ts";

/** Options of {@linkcode ReplayConnection}. */
export interface ReplayConnectionOptions extends Target {
  readonly methods?: EgressPolicy["methods"];
  readonly match: ExchangeMatch;
  /** Returns the recorded response to a request. */
  readonly find: (request: RecordedRequest) => RecordedResponse | undefined;
  readonly send: (kind: PacketKind, body?: Uint8Array | number | object) => void;
  /** Called once, when nothing is open any more. */
  readonly onEnd: () => void;
}

/** A connection whose responses come from fixtures. It reaches no network. */
export class ReplayConnection {
  readonly #options: ReplayConnectionOptions;
  readonly #gate: RequestGate;
  readonly #output: OutputWindow;
  #isSecure = false;
  #isUsed = false;
  #hasEnded = false;

  constructor(options: ReplayConnectionOptions) {
    this.#options = options;
    const requests = new RequestCollector((request) => this.#answer(request));
    this.#gate = new RequestGate({ ...options, listeners: [requests], isIdle: () => true });
    this.#output = new OutputWindow({
      onData: (piece) => options.send(PacketKind.data, piece),
      onEnd: () => options.send(PacketKind.ended),
    });
    options.send(PacketKind.opened);
  }

  /** Handles a packet of the guest. */
  receive({ kind, body }: Packet): void {
    if (this.#hasEnded) return;
    if (kind === PacketKind.close) this.close();
    else if (kind === PacketKind.send) this.#send(body);
    else if (kind === PacketKind.tls) this.#startTls(body);
    else if (kind === PacketKind.end) this.#output.end();
    else if (kind === PacketKind.credit) this.#output.addCredit(decodeCount(body));
  }

  /** Closes the connection. */
  close(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#options.onEnd();
  }

  #send(body: Uint8Array<ArrayBuffer>): void {
    this.#isUsed = true;
    const { host, send } = this.#options;
    try {
      this.#gate.push(body);
      send(PacketKind.sent, body.length);
    } catch (error) {
      const { code, message } = error instanceof RequestError
        ? new EgressError("EACCES", `a request to '${host}' was refused: ${error.message}`)
        : error as EgressError;
      send(PacketKind.failed, { code, message });
      this.close();
    }
  }

  #startTls(body: Uint8Array): void {
    const { host, send } = this.#options;
    const refusal = handshakeRefusal(decodeJson(body)?.hostname, { host, isUsed: this.#isUsed });
    this.#isSecure = refusal === undefined;
    send(PacketKind.secured, refusal ?? { host, alpn: "http/1.1" });
    if (refusal) this.close();
  }

  #answer(request: WholeRequest): void {
    const { host, port, match, find } = this.#options;
    const origin = `${this.#isSecure ? "https" : "http"}://${host}:${port}`;
    const recorded = toRecordedRequest(request, { origin, match });
    const response = find(recorded);
    if (!response) {
      throw new EgressError("EACCES", `the fixtures have no response to ${recorded.method} ${recorded.url}`);
    }
    this.#output.push(toResponseBytes(response, request.head.method));
  }
}
