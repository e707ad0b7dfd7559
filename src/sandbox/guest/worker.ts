/** Entry point of a session's worker: an interpreter in its own realm, driven by frames. */
import { defineGlobals, removeWasmConstructors, savedGlobals } from "./realm.ts";
import createModule from "pyodide/pyodide.asm.mjs";
import { encodeLost, FrameKind, HOME } from "../protocol.ts";
import type { WorkerAssets } from "./assets.ts";
import { buildPlainHeap, type BuiltImage, compileFiles, extendImage } from "./build.ts";
import { Channel } from "./channel.ts";
import { MonotonicClock } from "./checkpoint/monotonic_clock.ts";
import { VirtualChannel } from "./clock/virtual_channel.ts";
import { PACE, VirtualClock } from "./clock/virtual_clock.ts";
import { replaceDate, replaceRandom } from "./clock/virtual_realm.ts";
import { Devices, textBytes } from "./devices.ts";
import type { FileSystem, ModuleFactory } from "./emscripten.ts";
import { Entropy } from "./entropy.ts";
import { limitFiles, limitStreams } from "./files/file_quota.ts";
import { releaseWorkingFolder } from "./files/working_folder.ts";
import type { HeapImage } from "./heap_image.ts";
import { type PythonAssets, restorePython } from "./python/interpreter.ts";
import { GuestSession } from "./session.ts";
import type { Shell, ShellParts } from "./shell/shell.ts";
import { exitCodeOf, thrownText } from "./errno.ts";
import { WallClock } from "./wall_clock.ts";

/** The only message that a worker receives. */
export interface WorkerStart extends WorkerAssets {
  readonly incoming: SharedArrayBuffer;
  readonly outbox: SharedArrayBuffer;
  readonly interrupt: SharedArrayBuffer;
  /** Number of the session, if this worker writes its frames to the host itself. */
  readonly directSession?: number;
  readonly seed?: number;
}

const start = await savedGlobals.message as WorkerStart;
const entropy = new Entropy(savedGlobals.randomFill);
const interrupt = new Uint8Array(start.interrupt);
const virtual = start.clock === "virtual" ? new VirtualClock(interrupt) : undefined;
const clock = new MonotonicClock(savedGlobals.now);
const wallClock = virtual ?? new WallClock({ ...savedGlobals, origin: savedGlobals.timeOrigin });
const readMs = virtual ? () => virtual.readMs() : () => clock.now();

/** Globals that Pyodide reads: names that it tests for, a clock, and a source of randomness. */
defineGlobals({
  self: globalThis,
  performance: { now: readMs, timeOrigin: 0 },
  crypto: { getRandomValues: (view: Uint8Array) => entropy.fill(view) },
  console: { log() {}, warn() {}, error() {} },
  FinalizationRegistry: class {
    register(): void {}
    unregister(): void {}
  },
  WorkerGlobalScope: Object,
  URL: class {
    href: string;
    constructor(href: string) {
      this.href = href;
    }
    toString(): string {
      return this.href;
    }
  },
  location: { href: "file:///" },
  addEventListener() {},
  dispatchEvent: (event: { reason?: unknown }) => reportLost(event.reason),
  setTimeout: () => 0,
  clearTimeout() {},
  fetch: () => new Promise(() => {}),
});

if (virtual) {
  replaceDate(virtual);
  replaceRandom(entropy);
}

const { now } = savedGlobals;
const { directSession: session } = start;
const write = savedGlobals.takeHostWriter();
const channelParts = {
  incoming: start.incoming,
  outbox: start.outbox,
  interrupt,
  now,
  direct: session === undefined || !write ? undefined : { session, write },
};
const virtualChannel = virtual && new VirtualChannel(channelParts, virtual);
const channel = virtualChannel ?? new Channel(channelParts);

try {
  const assets: PythonAssets = {
    module: start.module,
    createModule: createModule as ModuleFactory,
    trees: start.trees,
    native: start.native ?? { libraries: [] },
    interrupt,
    wallClock,
    home: start.home ?? HOME,
  };
  const { plan, image, extension, compile } = start;
  if (plan) sendImage(await buildPlainHeap(assets, plan));
  else if (image && compile) await sendByteCode(assets, image, compile);
  else if (image && extension) sendImage(await extendImage(assets, image, extension));
  else if (image) await serve(assets, image);
} catch (error) {
  reportLost(error);
}

/** Reports that the interpreter has ended. The supervisor then terminates this worker. */
function reportLost(reason: unknown): void {
  channel.send(FrameKind.lost, encodeLost(textBytes(thrownText(reason)), exitCodeOf(reason)));
}

async function serve(assets: PythonAssets, image: HeapImage): Promise<void> {
  const [python, shell] = await Promise.all([
    restorePython(assets, image),
    start.shellUrl ? import(start.shellUrl) as Promise<typeof import("./shell/shell.ts")> : undefined,
  ]);
  if (start.ownModuleOnly) removeWasmConstructors();
  const time = virtual ? () => virtual.ms : now;
  const signals = python.threads.attachSignals({ interrupt, now: time, channel }, virtual);
  const devices = new Devices(channel, {
    ...start.limits,
    interrupt,
    ...(virtual && { memoryBytes: () => python.heapLimit.peakBytes }),
    allowedHosts: start.allowedHosts,
    clocks: {
      setAlarm: (afterMs, everyMs) => signals.setAlarm(afterMs, everyMs),
      setTimers: (cpuMs, wallMs) => signals.setTimers(cpuMs, wallMs),
      setZone: (zone) => python.localTime.set(zone),
    },
  });
  devices.install(python.fs);
  limitFiles(python.fs, start.limits.fileBytes);
  limitStreams(python.fs);
  releaseWorkingFolder(python.fs);
  const session = new GuestSession({
    python,
    image,
    devices,
    channel,
    entropy,
    interrupt,
    now,
    signals,
    clock,
    ...(virtual && virtualChannel && { virtual: { clock: virtual, channel: virtualChannel } }),
    home: assets.home,
    ...(shell && {
      startShell: (runProgram) =>
        startShell(shell, { fs: python.fs, home: assets.home, devices, runProgram }),
    }),
  });
  session.seed(start.seed);
  channel.send(FrameKind.opened, textBytes("{}"));
  await session.run();
  channel.send(FrameKind.closed, new Uint8Array(0));
}

function startShell(
  { Shell }: typeof import("./shell/shell.ts"),
  parts: { fs: FileSystem; home: string; devices: Devices; runProgram: ShellParts["runProgram"] },
): Shell {
  const { fs, home, devices, runProgram } = parts;
  const pause = (ms: number) => channel.pause(ms);
  const print: ShellParts["print"] = (stream, text) => devices.print(stream, text);
  return new Shell({
    fs,
    home,
    interrupt,
    pause,
    ...(virtual && { onStep: () => virtual.pass(PACE.step) }),
    runProgram,
    print,
    outputBytes: start.limits.outputBytes,
    environment: start.environment ?? {},
  });
}

async function sendByteCode(assets: PythonAssets, image: HeapImage, paths: readonly string[]): Promise<void> {
  const sizes: number[] = [];
  const onFile = (code: Uint8Array) => {
    sizes.push(code.length);
    sendPieces(code);
  };
  await compileFiles(assets, image, { paths, onFile });
  channel.send(FrameKind.opened, textBytes(JSON.stringify({ sizes })));
}

function sendPieces(data: Uint8Array): void {
  for (let at = 0; at < data.length; at += 1 << 20) {
    channel.send(FrameKind.image, data.subarray(at, at + (1 << 20)));
  }
}

function sendImage({ data, ...layout }: BuiltImage): void {
  sendPieces(data);
  channel.send(FrameKind.opened, textBytes(JSON.stringify(layout)));
}
