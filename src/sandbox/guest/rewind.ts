import type { CapturedTree } from "./checkpoint/file_tree.ts";
import type { PageRun } from "./checkpoint/heap_delta.ts";
import type { MonotonicClock } from "./checkpoint/monotonic_clock.ts";
import type { Moment, VirtualClock } from "./clock/virtual_clock.ts";
import { captureOpenFiles, type OpenFile, restoreOpenFiles } from "./checkpoint/open_files.ts";
import type { FsNode } from "./emscripten.ts";
import type { Entropy } from "./entropy.ts";
import { FileSnapshot } from "./files/file_snapshot.ts";
import type { HomeFiles } from "./files/home_files.ts";
import { type HeapImage, PAGE_BYTES } from "./heap_image.ts";
import type { Python } from "./python/interpreter.ts";
import type { LinkImage } from "./python/linker.ts";
import { resetGlobals } from "./python/module_state.ts";
import type { SignalSource } from "./python/signals.ts";
import type { FreeStack } from "./python/threads.ts";
import type { Shell, ShellImage } from "./shell/shell.ts";

/** A heap never shrinks. If it is larger than this many times the image, a fresh interpreter is cheaper. */
const MAX_REWIND_FACTOR = 4;

/** What a checkpoint with memory has of the parts of a session, beside the bytes of the heap and the files. */
export interface MemoryHead {
  readonly heapBytes: number;
  readonly runs: readonly PageRun[];
  readonly open: readonly OpenFile[];
  /** Absent if the profile has no native libraries. */
  readonly links?: LinkImage | undefined;
  readonly freeStacks: readonly FreeStack[];
  /** Zone of local times, in base64. Absent for UTC. */
  readonly zone?: string | undefined;
  readonly cpuMs: number;
  readonly clockMs: number;
  /** Present if the session has a virtual clock. */
  readonly virtual?: VirtualState | undefined;
  /** Absent if the profile has no shell. */
  readonly shell?: ShellImage | undefined;
}

/** What a checkpoint of a session with a virtual clock has beside. */
export interface VirtualState {
  readonly moment: Moment;
  /** State of the bytes of `os.urandom`. */
  readonly entropy: string;
}

/** A checkpoint with memory that is being restored. */
export interface RestoredMemory {
  readonly head: MemoryHead;
  /** The pages of the heap that differ from the image. */
  readonly packed: Uint8Array;
  /** Restores the files, and returns their nodes. */
  restoreFiles(): readonly FsNode[];
}

/** A part of the state of a session. */
export interface StatePart {
  readonly name: string;
  /** Returns the part to its state at the start. */
  rewind(): void;
  /** Returns the fields of a checkpoint that describe the part. */
  capture?(tree: CapturedTree): Partial<MemoryHead>;
  /**
   * Replaces the part, in whatever state the part is, by the part of a checkpoint.
   *
   * @default the part is rewound
   */
  restore?(memory: RestoredMemory): void;
}

/** What the parts of the state belong to. */
export interface StateOwners {
  readonly python: Python;
  readonly image: HeapImage;
  /** The session's home directory. */
  readonly home: string;
  readonly files: HomeFiles;
  readonly signals: SignalSource;
  readonly clock: MonotonicClock;
  readonly entropy: Entropy;
  /** Present if time passes only by what programs do. */
  readonly virtual?: { readonly clock: VirtualClock };
  /** Knows how many sockets are open. Their contents are in the heap. */
  readonly devices: { openSockets: number };
  /** Absent if the profile has no shell. */
  readonly shell: Shell | undefined;
}

/**
 * Returns all parts of the state of a session, which is at its start, in the order in which they are replaced. A rewind
 * clears them; a checkpoint captures them; to restore a checkpoint, also in the copy that a fork makes, replaces them.
 */
export function stateParts(
  owners: StateOwners,
): StatePart[] {
  const { python, image, home, files, signals, clock, devices, shell } = owners;
  const { exports, fs, closures, linker, heapLimit, heapDelta, threads, localTime } = python;
  const snapshot = new FileSnapshot({ fs, pipes: python.module.PIPEFS, home });
  resetGlobals(exports); // in a restored interpreter the bounds of the stack are not set
  const stackPointer = Number(exports.__stack_pointer.value);
  const stackEnd = exports.emscripten_stack_get_end() >>> 0;
  const requireFit = () => requireRewindable(exports.memory.buffer.byteLength, image.heapBytes);
  const writeImage = () => python.writeImage({ used: true }); // also the unused C stack, where a program may have left data
  return [
    {
      name: "size of the heap",
      rewind: requireFit,
      capture: () => ({ heapBytes: exports.memory.buffer.byteLength }),
    },
    { name: "files", rewind: () => snapshot.restore() },
    { name: "callbacks of C", rewind: () => closures.freeAll() },
    {
      name: "native libraries",
      rewind: () => linker.rewind(),
      capture: () => ({ links: linker.capture() }),
      restore: ({ head: { heapBytes, links } }) => {
        linker.rewind();
        heapLimit.growTo(heapBytes); // a library that is loaded writes its data to the heap
        if (links) linker.adopt(links);
      },
    },
    {
      name: "heap",
      rewind: writeImage,
      capture: () => ({ runs: findRuns(python, stackEnd) }),
      restore: ({ head, packed }) => {
        writeImage();
        heapDelta.unpack(head.runs, packed);
      },
    },
    {
      name: "stack",
      rewind: () => {
        resetGlobals(exports);
        exports.__stack_pointer.value = stackPointer;
      },
    },
    {
      name: "stacks of threads",
      rewind: () => {}, // none is left when all threads have ended
      capture: () => ({ freeStacks: threads.freeStacks }),
      restore: ({ head }) => {
        threads.freeStacks = head.freeStacks;
      },
    },
    {
      name: "open files",
      rewind: () => files.openStandard(),
      capture: ({ indexes }) => ({ open: captureOpenFiles(fs, indexes) }),
      restore: ({ head, restoreFiles }) => restoreOpenFiles(fs, head.open, restoreFiles()),
    },
    {
      name: "sockets",
      rewind: () => {
        devices.openSockets = 0;
      },
      capture: () => requireNoSockets(devices.openSockets),
    },
    {
      name: "zone",
      rewind: () => localTime.reset(),
      capture: () => ({ zone: localTime.encoded?.toBase64() }),
      restore: ({ head: { zone } }) => {
        if (zone === undefined) localTime.reset();
        else localTime.set(Uint8Array.fromBase64(zone));
      },
    },
    ...owners.virtual ? [virtualPart(owners.virtual.clock, owners.entropy)] : [],
    {
      name: "CPU time",
      rewind: () => signals.resetCpuTime(),
      capture: () => ({ cpuMs: signals.cpuMs }),
      restore: ({ head }) => signals.resetCpuTime(head.cpuMs),
    },
    {
      name: "monotonic clock",
      rewind: () => {}, // it never goes back
      capture: () => ({ clockMs: clock.now() }),
      restore: ({ head }) => clock.advanceTo(head.clockMs),
    },
    {
      name: "shell",
      rewind: () => shell?.reset(),
      capture: () => ({ shell: shell?.capture() }),
      restore: ({ head }) => head.shell && shell?.restore(head.shell),
    },
  ];
}

/** Returns the time and the random bytes of a session with a virtual clock. A rewind seeds the bytes anew. */
function virtualPart(clock: VirtualClock, entropy: Entropy): StatePart {
  const start = { ns: 0, waitedNs: 0 };
  return {
    name: "virtual clock",
    rewind: () => {
      clock.moment = start;
    },
    capture: () => ({ virtual: { moment: clock.moment, entropy: entropy.state ?? "0" } }),
    restore: ({ head: { virtual } }) => {
      clock.moment = virtual?.moment ?? start;
      entropy.state = virtual?.entropy;
    },
  };
}

/** Returns all parts to their state at the start. Throws if the heap is too large, or a device or a mount was removed. */
export function rewind(parts: readonly StatePart[]): void {
  for (const part of parts) part.rewind();
}

/** Returns the fields of a checkpoint with memory that describe the parts. */
export function captureMemory(parts: readonly StatePart[], tree: CapturedTree): MemoryHead {
  return Object.assign({}, ...parts.map((part) => part.capture?.(tree)));
}

/** Replaces all parts by the parts of a checkpoint. Throws as {@linkcode rewind} does. */
export function restoreMemory(parts: readonly StatePart[], memory: RestoredMemory): void {
  for (const part of parts) {
    if (part.restore) part.restore(memory);
    else part.rewind();
  }
}

function requireRewindable(heapBytes: number, imageBytes: number): void {
  const maxBytes = MAX_REWIND_FACTOR * imageBytes;
  if (heapBytes <= maxBytes) return;
  throw new Error(`Cannot rewind as the heap must be at most ${maxBytes} bytes: found ${heapBytes}`);
}

function requireNoSockets(count: number): Partial<MemoryHead> {
  if (count === 0) return {};
  const open = count === 1 ? "a socket is" : `${count} sockets are`;
  throw new Error(`Cannot make checkpoint as ${open} open: close what uses the network of the session`);
}

/** Finds the pages that differ, outside the part of the C stack that no function uses: ended calls left data there. */
function findRuns({ exports, heapDelta }: Python, stackEnd: number): PageRun[] {
  const free = Math.ceil(stackEnd / PAGE_BYTES) * PAGE_BYTES;
  const pointer = Number(exports.__stack_pointer.value) >>> 0;
  return heapDelta.find(free, Math.max(free, pointer - pointer % PAGE_BYTES));
}
