import { FrameKind, PART_BYTES } from "../../protocol.ts";
import type { Channel } from "../channel.ts";
import { textBytes } from "../devices.ts";
import type { Python } from "../python/interpreter.ts";
import type { FreeStack } from "../python/threads.ts";
import {
  captureMemory,
  type MemoryHead,
  restoreMemory,
  rewind,
  type StatePart,
  type VirtualState,
} from "../rewind.ts";
import type { Shell } from "../shell/shell.ts";
import { contentBytes, FileTree, parseTree, type TreeImage, type WorkingFileSystem } from "./file_tree.ts";
import { checkRuns } from "./heap_delta.ts";
import { openNodes, parseOpenFiles } from "./open_files.ts";
import { requireCount, requireItems, requireText, requireTime } from "./parts.ts";

const LENGTH_BYTES = 4;
const MAX_ENTROPY_CHARACTERS = 20;
/** A page less than 4 GiB: more is no number of 32 bits. */
const MAX_HEAP_BYTES = 2 ** 32 - 65536;

const decoder = new TextDecoder();

/**
 * Head of a checkpoint: all that it has of a session beside bytes. The bytes come first: the packed differences between the heap's
 * pages and the pages of the image, then the contents of the files. The length of this part follows it.
 */
type CheckpointHead = FilesHead | FilesHead & MemoryHead;

/** Head of a checkpoint without memory. */
interface FilesHead {
  readonly files: TreeImage;
}

/** Request of the host for a checkpoint. */
export interface CheckpointRequest {
  readonly maxBytes: number;
  /** False for a checkpoint that has the files alone. */
  readonly memory: boolean;
}

/** The parts of a session that a checkpoint has. */
export interface CheckpointParts {
  readonly python: Python;
  readonly channel: Channel;
  readonly shell: Shell | undefined;
  readonly state: readonly StatePart[];
}

/** Captures the state of a session between two execs, and restores it. No code of the program runs. */
export class GuestCheckpoint {
  readonly #parts: CheckpointParts;
  readonly #tree: FileTree;
  /** Working directory at the start. */
  readonly #firstFolder: string;

  /** Records the files at the start. */
  constructor(parts: CheckpointParts) {
    this.#parts = parts;
    this.#tree = new FileTree(parts.python.fs);
    this.#firstFolder = (parts.python.fs as WorkingFileSystem).currentPath;
  }

  /**
   * Sends the state in parts.
   *
   * @throws {Error} with the reason, if a part of the state cannot be in a checkpoint. Nothing was sent then.
   */
  send({ maxBytes, memory }: CheckpointRequest): void {
    const { python, channel, state } = this.#parts;
    if (memory) this.#requireIdle();
    const tree = this.#tree.capture(memory ? openNodes(python.fs) : []);
    const head: CheckpointHead = memory
      ? { files: tree.image, ...captureMemory(state, tree) }
      : { files: { ...tree.image, workingFolder: this.#firstFolder } };
    const bytes = textBytes(JSON.stringify(head));
    requireRestorable(bytes, python.fs.MAX_OPEN_FDS);
    const rawBytes = packedBytes(head) + contentBytes(tree.image) + bytes.length;
    if (rawBytes > maxBytes) {
      throw new Error(`Cannot make checkpoint as it must have at most ${maxBytes} bytes: it has ${rawBytes}`);
    }
    const length = new Uint8Array(LENGTH_BYTES);
    new DataView(length.buffer).setUint32(0, bytes.length, true);
    const sender = new PartSender(channel);
    if (memory) python.heapDelta.pack((packed) => sender.add(packed));
    for (const contents of [...tree.contents, bytes, length]) sender.add(contents);
    sender.flush();
  }

  /**
   * Replaces the state by the state of a checkpoint. Returns true if the checkpoint has memory. Otherwise its files are
   * added to the state at the start.
   *
   * @throws {Error} if it cannot be restored here. The state is undefined then.
   */
  restore(bytes: Uint8Array): boolean {
    const { python, shell, state } = this.#parts;
    const { head, packed, contents } = parseState(bytes, python.fs.MAX_OPEN_FDS);
    const restoreFiles = () => this.#tree.restore(head.files, (size) => contents.take(size));
    if (!("runs" in head)) {
      rewind(state);
      restoreFiles();
      return false;
    }
    if (Boolean(head.shell) !== Boolean(shell)) {
      throw new Error("Cannot restore checkpoint as only one of it and the session has a shell");
    }
    restoreMemory(state, { head, packed, restoreFiles });
    return true;
  }

  /** Throws the reason for which the session cannot be captured now. */
  #requireIdle(): void {
    const { python, shell } = this.#parts;
    const { threads, closures } = python;
    if (threads.liveCount > 0) {
      throw new Error(
        "Cannot make checkpoint as no thread and no child process may run beside the main thread: found " +
          `${threads.liveCount}; join them, and shut executors down`,
      );
    }
    if (shell?.commands.wereUsed) throw new Error("Cannot make checkpoint as a command of the shell runs");
    if (closures.count > 0) {
      throw new Error(
        `Cannot make checkpoint as C can call ${closures.count} Python functions: delete the callbacks of ctypes`,
      );
    }
  }
}

/** Sends bytes in frames of the same size, whatever the sizes of the pieces that they come in. */
class PartSender {
  readonly #channel: Channel;
  readonly #buffer = new Uint8Array(PART_BYTES);
  #used = 0;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + PART_BYTES - this.#used);
      this.#buffer.set(piece, this.#used);
      this.#used += piece.length;
      at += piece.length;
      if (this.#used === PART_BYTES) this.flush();
    }
  }

  flush(): void {
    if (this.#used > 0) this.#channel.send(FrameKind.part, this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }
}

/** The parts of a state. */
interface State {
  readonly head: CheckpointHead;
  readonly packed: Uint8Array;
  readonly contents: Reader;
}

/** Parses a state, and checks that its parts have the sizes that its head names. */
function parseState(state: Uint8Array, maxFds: number): State {
  if (state.length < LENGTH_BYTES) throw new Error("Cannot restore checkpoint as it has no head");
  const headEnd = state.length - LENGTH_BYTES;
  const headBytes = new DataView(state.buffer, state.byteOffset + headEnd).getUint32(0, true);
  const headAt = headEnd - requireCount(headBytes, headEnd);
  const head = parseHead(state.subarray(headAt, headEnd), maxFds);
  const contentsAt = headAt - requireCount(contentBytes(head.files), headAt);
  const contents = new Reader(state.subarray(contentsAt, headAt));
  return { head, packed: state.subarray(0, contentsAt), contents };
}

function parseHead(bytes: Uint8Array, maxFds: number): CheckpointHead {
  const head = JSON.parse(decoder.decode(bytes)) as CheckpointHead;
  const files = parseTree(head.files);
  if (!("runs" in head)) return head;
  requireCount(head.heapBytes, MAX_HEAP_BYTES);
  requireItems(head.runs).forEach((run) => requireItems(run, 2));
  checkRuns(head.runs, head.heapBytes);
  parseOpenFiles(head.open, files.nodes.length, maxFds);
  for (const { address, bytes } of requireItems(head.freeStacks) as readonly FreeStack[]) {
    requireCount(address, head.heapBytes);
    requireCount(bytes, head.heapBytes - address);
  }
  [head.cpuMs, head.clockMs].forEach(requireTime);
  if (head.virtual) requireVirtual(head.virtual);
  return head;
}

/** Throws unless the numbers of a virtual clock are valid. */
function requireVirtual({ moment, entropy }: VirtualState): void {
  requireCount(moment.waitedNs, requireCount(moment.ns, Number.MAX_SAFE_INTEGER));
  if (!/^\d{1,20}$/.test(requireText(entropy, MAX_ENTROPY_CHARACTERS))) {
    throw new Error("Cannot restore checkpoint as the state of its random bytes must be a number");
  }
}

/** Parses the head of a state before the state is sent: what no session could restore is no checkpoint. */
function requireRestorable(head: Uint8Array, maxFds: number): void {
  try {
    parseHead(head, maxFds);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot make checkpoint as no session could restore it: ${reason}`, { cause });
  }
}

/** Returns the size of the pages that differ. */
function packedBytes(head: CheckpointHead): number {
  return "runs" in head ? checkRuns(head.runs, head.heapBytes) : 0;
}

/** Reads bytes part by part. */
class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Returns the next part. The sum of all parts is the number of bytes. */
  take(count: number): Uint8Array {
    return this.#bytes.subarray(this.#at, this.#at += count);
  }
}
