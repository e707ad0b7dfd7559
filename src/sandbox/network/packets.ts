/**
 * Packets of connections to the outside, between the guest, the host and the broker. Each is the payload of a `network`
 * frame: `u32 connection | u8 operation | body`, little-endian.
 */

/** Operations of packets. Operations of the guest come first, then operations of the broker. */
export const PacketKind = {
  /** Guest: connect to a host. `u16 port | name`. */
  open: 1,
  /** Guest: bytes to send. */
  send: 2,
  /** Guest: the program has received so many bytes more. `u32 bytes`. */
  credit: 3,
  /** Guest: continue with TLS. JSON: {@linkcode TlsRequest}. */
  tls: 4,
  /** Guest: the program sends no more. */
  end: 5,
  /** Guest: the program has closed the connection. */
  close: 6,
  /** Guest: the program waits for data. */
  ready: 7,

  /** Broker: the connection is established. */
  opened: 32,
  /** Broker: bytes that arrived. */
  data: 33,
  /** Broker: so many bytes more were sent. `u32 bytes`. */
  sent: 34,
  /** Broker: the result of `tls`. JSON: {@linkcode TlsResult}. */
  secured: 35,
  /** Broker: the host sends no more. */
  ended: 36,
  /** Broker: the connection failed. JSON: {@linkcode NetworkFailure}. */
  failed: 37,
} as const;

/** A number of {@linkcode PacketKind}. */
export type PacketKind = (typeof PacketKind)[keyof typeof PacketKind];

/** Bytes of a direction that are on their way at most. The receiver gives room for more as it takes them. */
export const WINDOW_BYTES = 256 * 1024;

/** Request for TLS. */
export interface TlsRequest {
  /** Name that the program asks for; the name of the connection if there is none. */
  readonly hostname?: string | null;
}

/** Result of a handshake. */
export interface TlsResult {
  /** Name for which the certificate was checked, if the handshake succeeded. */
  readonly host?: string;
  /** Protocol that the server chose, such as `http/1.1`. */
  readonly alpn?: string | undefined;
  /** Reason of a failure. Without one, the handshake succeeded. */
  readonly error?: string;
  /** True if the failure is one of the certificate. */
  readonly isCertificate?: boolean;
}

/** Reason for which a connection failed. */
export interface NetworkFailure {
  /** Name of an error of Linux, such as `ECONNREFUSED`. */
  readonly code: string;
  readonly message: string;
}

/** A parsed packet. */
export interface Packet {
  readonly connection: number;
  readonly kind: number;
  readonly body: Uint8Array<ArrayBuffer>;
}

const HEAD_BYTES = 5;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Returns a packet. An object is sent as JSON, a number as `u32`. */
export function encodePacket(
  connection: number,
  kind: PacketKind,
  body: Uint8Array | number | object = new Uint8Array(0),
): Uint8Array<ArrayBuffer> {
  const bytes = body instanceof Uint8Array
    ? body
    : typeof body === "number"
    ? new Uint8Array(new Uint32Array([body]).buffer)
    : encoder.encode(JSON.stringify(body));
  const packet = new Uint8Array(HEAD_BYTES + bytes.length);
  new DataView(packet.buffer).setUint32(0, connection, true);
  packet[4] = kind;
  packet.set(bytes, HEAD_BYTES);
  return packet;
}

/**
 * Parses a packet.
 *
 * @throws {SyntaxError} if it has no head.
 */
export function decodePacket(bytes: Uint8Array<ArrayBuffer>): Packet {
  if (bytes.length < HEAD_BYTES) throw new SyntaxError("Cannot read packet as it is too short");
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEAD_BYTES);
  return { connection: view.getUint32(0, true), kind: view.getUint8(4), body: bytes.subarray(HEAD_BYTES) };
}

/**
 * Returns the number of a packet's body.
 *
 * @throws {SyntaxError} if the body is not a number.
 */
export function decodeCount(body: Uint8Array): number {
  if (body.length !== 4) throw new SyntaxError("Cannot read packet as its number must have 4 bytes");
  return new DataView(body.buffer, body.byteOffset, 4).getUint32(0, true);
}

/**
 * Returns host and port of an `open` packet.
 *
 * @throws {SyntaxError} if the body is too short.
 */
export function decodeTarget(body: Uint8Array): { host: string; port: number } {
  if (body.length < 3) throw new SyntaxError("Cannot read packet as it names no host");
  const port = new DataView(body.buffer, body.byteOffset, 2).getUint16(0, true);
  return { host: decoder.decode(body.subarray(2)), port };
}

/** Returns the JSON of a packet's body; `undefined` if it is not an object. */
export function decodeJson(body: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(decoder.decode(body));
    return typeof value === "object" && value !== null ? value as Record<string, unknown> : undefined;
  } catch {
    return undefined; // the caller reports a malformed packet
  }
}
