/** One session: an interpreter in a realm of its own, driven frame by frame. */
import { defineGlobals, kept, removeWasmConstructors } from "./realm.ts";
import createModule from "pyodide/pyodide.asm.mjs";
import { encodeLost, FrameKind, HOME } from "../protocol.ts";
import { buildImage, type ImagePlan } from "./build.ts";
import { Channel } from "./channel.ts";
import { Devices, textBytes } from "./devices.ts";
import type { FileSystem, ModuleFactory } from "./emscripten.ts";
import { Entropy } from "./entropy.ts";
import { limitFiles, limitStreams } from "./file_quota.ts";
import { type HeapImage, type PythonAssets, restorePython } from "./python.ts";
import type { ReadOnlyTree } from "./read_only_files.ts";
import { Session } from "./session.ts";
import type { Shell, ShellParts } from "./shell/shell.ts";
import { exitCodeOf, thrownText } from "./errno.ts";

/** Everything a worker is given, in its one message. */
export interface WorkerStart {
  readonly incoming: SharedArrayBuffer;
  readonly outgoing: SharedArrayBuffer;
  readonly interrupt: SharedArrayBuffer;
  readonly module: WebAssembly.Module;
  readonly exportNames: readonly string[];
  readonly trees: readonly ReadOnlyTree[];
  readonly image?: HeapImage;
  readonly plan?: ImagePlan;
  /** Where the shell's code is; none without a shell. */
  readonly shellUrl?: string;
  /** Set where Python may load no library of its own. */
  readonly ownModuleOnly?: true;
  readonly limits: { readonly outputBytes: number; readonly fileBytes: number };
  /** Where the session has its own files, if not in the usual place. */
  readonly home?: string;
  readonly seed?: number;
}

const start = await kept.message as WorkerStart;
const entropy = new Entropy(kept.randomFill);

/** What Pyodide reads of a worker's globals: names it tests for, a clock, and a source of randomness. */
defineGlobals({
  self: globalThis,
  performance: { now: kept.now, timeOrigin: 0 },
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
  dispatchEvent: (event: { reason?: unknown }) => lost(event.reason),
  setTimeout: () => 0,
  clearTimeout() {},
  fetch: () => new Promise(() => {}),
});

const interrupt = new Uint8Array(start.interrupt);
const channel = new Channel({ incoming: start.incoming, outgoing: start.outgoing, interrupt });

try {
  const assets: PythonAssets = {
    module: start.module,
    createModule: createModule as ModuleFactory,
    exportNames: start.exportNames,
    trees: start.trees,
    interrupt,
    home: start.home ?? HOME,
  };
  if (start.plan) await build(assets, start.plan);
  else if (start.image) await serve(assets, start.image);
} catch (error) {
  lost(error);
}

/** Says that the session is over; the supervisor then ends this worker. */
function lost(reason: unknown): void {
  channel.send(FrameKind.lost, encodeLost(textBytes(thrownText(reason)), exitCodeOf(reason)));
}

async function serve(assets: PythonAssets, image: HeapImage): Promise<void> {
  const [python, shell] = await Promise.all([
    restorePython(assets, image),
    start.shellUrl ? import(start.shellUrl) as Promise<typeof import("./shell/shell.ts")> : undefined,
  ]);
  if (start.ownModuleOnly) removeWasmConstructors();
  const devices = new Devices(channel, { ...start.limits, now: kept.now, interrupt });
  devices.install(python.fs);
  limitFiles(python.fs, start.limits.fileBytes);
  limitStreams(python.fs);
  python.module.Py_EmscriptenSignalBuffer = interrupt;
  const session = new Session({
    python,
    image,
    devices,
    channel,
    entropy,
    interrupt,
    home: assets.home,
    ...(shell && {
      startShell: (runPython) => startShell(shell, { fs: python.fs, home: assets.home, devices, runPython }),
    }),
  });
  session.seed(start.seed);
  channel.send(FrameKind.opened, textBytes("{}"));
  await session.run();
  channel.send(FrameKind.closed, new Uint8Array(0));
}

function startShell(
  { Shell }: typeof import("./shell/shell.ts"),
  parts: { fs: FileSystem; home: string; devices: Devices; runPython: ShellParts["python"] },
): Shell {
  const { fs, home, devices, runPython: python } = parts;
  const pause = (ms: number) => channel.pause(ms, kept.now);
  const print: ShellParts["print"] = (stream, text) => devices.print(stream, text);
  return new Shell({ fs, home, interrupt, pause, python, print, outputBytes: start.limits.outputBytes });
}

async function build(assets: PythonAssets, plan: ImagePlan): Promise<void> {
  const { data, ...about } = await buildImage(assets, plan);
  for (let at = 0; at < data.length; at += 1 << 20) {
    channel.send(FrameKind.image, data.subarray(at, at + (1 << 20)));
  }
  channel.send(FrameKind.opened, textBytes(JSON.stringify(about)));
}
