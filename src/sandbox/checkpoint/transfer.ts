import { SandboxError } from "../../errors.ts";
import { type GuestLink, GuestRefusal } from "../guest_link.ts";
import { DoneStatus, FrameKind, PART_BYTES } from "../protocol.ts";

/** A frame of this size is small enough not to delay others for long. */
const PIECE_BYTES = 256 * 1024;
/** Time without a frame after which the interpreter counts as lost, in milliseconds. */
const SILENCE_MS = 10_000;
/** Maximum time of a transfer, in milliseconds, however often frames come. */
const MAX_TRANSFER_MS = 120_000;
const MAX_MESSAGE_BYTES = 4096;
/** Bytes by which the buffer of a state grows. */
const GROWTH_BYTES = 1 << 20;

const decoder = new TextDecoder();

/** Request for the state of a session. */
export interface StateRequest {
  readonly maxBytes: number;
  /**
   * False for a state that has the files alone.
   *
   * @default true
   */
  readonly memory?: boolean | undefined;
}

/**
 * Receives the state of a session. The bytes are the guest's, and this host does not read them. Each part is copied on
 * arrival into a single buffer that grows: to join the parts at the end would hold up the thread for as long as the
 * state is large, and take the state's memory twice.
 *
 * @throws {GuestRefusal} with the guest's message, if the session has something that no checkpoint has.
 * @throws {SandboxError} if the interpreter is terminated.
 */
export async function receiveState(
  link: GuestLink,
  { maxBytes, memory = true }: StateRequest,
): Promise<Uint8Array<ArrayBuffer>> {
  const buffer = new ArrayBuffer(0, { maxByteLength: maxBytes });
  let bytes = 0;
  await request(link, {
    send: () => link.send(FrameKind.checkpoint, JSON.stringify({ maxBytes, memory })),
    onPart(payload) {
      if (bytes % PART_BYTES !== 0 || payload.length === 0) {
        throw new SyntaxError("a part of a checkpoint has another size");
      }
      const end = bytes + payload.length;
      if (end > maxBytes) {
        throw new SyntaxError(`a checkpoint has more than ${maxBytes} bytes`);
      }
      if (end > buffer.byteLength) buffer.resize(Math.min(maxBytes, end + GROWTH_BYTES));
      new Uint8Array(buffer, bytes).set(payload);
      bytes = end;
    },
  });
  buffer.resize(bytes);
  return new Uint8Array(buffer);
}

/** Random numbers of a restored session. */
export interface Reseeding {
  /** True if Python's generators get a new seed. The operating system's generators always do. */
  readonly reseed: boolean;
  readonly seed?: number | undefined;
}

/**
 * Restores a state in an interpreter.
 *
 * @throws {GuestRefusal} if it cannot be restored in this interpreter, whose state is undefined then.
 * @throws {SandboxError} if the interpreter is terminated.
 */
export async function sendState(link: GuestLink, state: Uint8Array, reseeding: Reseeding): Promise<void> {
  await request(link, {
    async send(onProgress) {
      link.send(FrameKind.restore, JSON.stringify({ bytes: state.length, ...reseeding }));
      for (let at = 0; at < state.length && link.alive; at += PIECE_BYTES) {
        await link.send(FrameKind.piece, state.subarray(at, at + PIECE_BYTES));
        onProgress();
      }
    },
    onPart() {
      throw new SyntaxError("a part of a checkpoint came where 'done' was expected");
    },
  });
}

interface TransferRequest {
  /** Calls `onProgress` when the guest has taken a part of it. */
  send(onProgress: () => void): Promise<void> | void;
  /** Called with each part of the response. An error is a protocol violation of the guest. */
  onPart(payload: Uint8Array): void;
}

/** Sends a request, and waits for the parts of its response and its end. */
async function request(link: GuestLink, { send, onPart }: TransferRequest): Promise<void> {
  const end = Promise.withResolvers<Uint8Array>();
  const fail = (ms: number) => link.fail({ reason: "crashed", message: `no response within ${ms} ms` });
  const deadline = setTimeout(() => fail(MAX_TRANSFER_MS), MAX_TRANSFER_MS);
  let timer = setTimeout(() => fail(SILENCE_MS), SILENCE_MS);
  const restartTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(() => fail(SILENCE_MS), SILENCE_MS);
  };
  link.listen({
    onFrame({ kind, payload }) {
      restartTimer(); // also after `done`: a guest may send it and not take what this host sends
      if (kind === FrameKind.done) return end.resolve(payload);
      if (kind !== FrameKind.part) throw new SyntaxError(`frame ${kind} where 'part' was expected`);
      onPart(payload);
    },
    onTermination: ({ message }) => end.reject(new SandboxError(message)),
  });
  try {
    await Promise.all([send(restartTimer), end.promise]);
    const done = await end.promise;
    if (done[0] === DoneStatus.ok) return;
    throw new GuestRefusal(decoder.decode(done.subarray(1, MAX_MESSAGE_BYTES)), { isMissingFile: false });
  } finally {
    clearTimeout(timer);
    clearTimeout(deadline);
    link.listen(undefined);
  }
}
