import { stripTypeScriptTypes } from "node:module";
import type { ImageExtension, PlainImagePlan } from "../guest/build.ts";
import { CALLED_BY_GUEST } from "../guest/emscripten.ts";
import { REFERENCE_CALLS } from "../guest/python/module_state.ts";
import signals from "../guest/python/signals.py" with { type: "text" };
import alarms from "../guest/python/alarms.py" with { type: "text" };
import bridge from "../guest/python/bridge.py" with { type: "text" };
import commands from "../guest/python/commands.py" with { type: "text" };
import descriptors from "../guest/python/descriptors.py" with { type: "text" };
import eventLoop from "../guest/python/event_loop.py" with { type: "text" };
import missing from "../guest/python/missing.py" with { type: "text" };
import namespaces from "../guest/python/namespaces.py" with { type: "text" };
import pipes from "../guest/python/pipes.py" with { type: "text" };
import posixNames from "../guest/python/posix_names.py" with { type: "text" };
import exitFunctions from "../guest/python/exit_functions.py" with { type: "text" };
import libraryAdditions from "../guest/python/library_additions.py" with { type: "text" };
import locks from "../guest/python/locks.py" with { type: "text" };
import prepare from "../guest/python/prepare.py" with { type: "text" };
import processes from "../guest/python/processes.py" with { type: "text" };
import program from "../guest/python/program.py" with { type: "text" };
import programEnd from "../guest/python/program_end.py" with { type: "text" };
import report from "../guest/python/report.py" with { type: "text" };
import runner from "../guest/python/runner.py" with { type: "text" };
import scheduler from "../guest/python/scheduler.py" with { type: "text" };
import strftime from "../guest/python/strftime.py" with { type: "text" };
import subprocesses from "../guest/python/subprocesses.py" with { type: "text" };
import threads from "../guest/python/threads.py" with { type: "text" };
import timers from "../guest/python/timers.py" with { type: "text" };
import toolArguments from "../guest/python/tool_arguments.py" with { type: "text" };
import tools from "../guest/python/tools.py" with { type: "text" };
import values from "../guest/python/values.py" with { type: "text" };
import display from "../guest/python/display.py" with { type: "text" };
import addresses from "../guest/python/sockets/addresses.py" with { type: "text" };
import ancillary from "../guest/python/sockets/ancillary.py" with { type: "text" };
import endpoints from "../guest/python/sockets/endpoints.py" with { type: "text" };
import hosts from "../guest/python/sockets/hosts.py" with { type: "text" };
import messages from "../guest/python/sockets/messages.py" with { type: "text" };
import socketOptions from "../guest/python/sockets/options.py" with { type: "text" };
import outside from "../guest/python/sockets/outside.py" with { type: "text" };
import polling from "../guest/python/sockets/polling.py" with { type: "text" };
import socketModule from "../guest/python/sockets/socket_module.py" with { type: "text" };
import socketType from "../guest/python/sockets/socket_type.py" with { type: "text" };
import tls from "../guest/python/sockets/tls.py" with { type: "text" };
import streams from "../guest/python/sockets/streams.py" with { type: "text" };
import cells from "../guest/python/notebook/cells.py" with { type: "text" };
import magics from "../guest/python/notebook/magics.py" with { type: "text" };
import pretty from "../guest/python/notebook/pretty.py" with { type: "text" };
import { sha256 } from "../../hash.ts";
import { guestName } from "../profile/guest_name.ts";
import { placeholdersOf } from "../profile/network.ts";
import type { Profile } from "../profile/profile.ts";
import type { PyodideFiles } from "./pyodide.ts";
import { widenCStack } from "./wasm/c_stack.ts";
import { addToTable } from "./wasm/function_table.ts";
import { errorTexts, LINUX_ERRORS, raiseLinuxErrors } from "./wasm/linux_errors.ts";
import { widenSizes } from "./wasm/sizes/sizes.ts";
import { stripWasm } from "./wasm/wasm.ts";
import { BROKER_FILES, SUPERVISOR_FILES, WORKER_FILES } from "./guest_manifest.ts";
import * as shellSources from "./shell/shell_sources.ts";

/** A JavaScript module of the guest, as it runs. */
export interface GuestModule {
  readonly name: string;
  readonly source: string;
}

/**
 * Returns the files of the supervisor and the broker, which are in one directory of the cache. `supervisor.js` and
 * `broker.js` are the main modules.
 */
export function supervisorModules(): GuestModule[] {
  return Object.entries({ ...SUPERVISOR_FILES, ...BROKER_FILES }).map(([name, source]) => ({
    name: `${name}.js`,
    source: stripTypeScriptTypes(source).replace(/(from )"\.[\w./]*\/(\w+)\.ts"/g, '$1"./$2.js"'),
  }));
}

/** Returns the worker's modules, each after those it imports; the last is the worker itself. */
export function workerModules(): GuestModule[] {
  return guestModules(WORKER_FILES);
}

/** Hash of the sources of the shell, its engine and their build: computed once, as the sources have a megabyte. */
let shellHash: Promise<string> | undefined;

/** Returns a hash of the shell, its engine and their build, which is part of an image's cache key. */
export function hashShell(): Promise<string> {
  shellHash ??= sha256(JSON.stringify(Object.entries(shellSources)));
  return shellHash;
}

/** The script that prepares the plain image and extends it. It is part of an image's cache key. */
export const PREPARE: string = prepare;

/** Modules that are part of the plain image, as nearly every program or profile uses them. */
export const COMMON_MODULES: readonly string[] = [
  "abc",
  "ast",
  "asyncio",
  "bisect",
  "cmath",
  "collections",
  "contextlib",
  "copy",
  "dataclasses",
  "datetime",
  "decimal",
  "enum",
  "fractions",
  "functools",
  "heapq",
  "io",
  "itertools",
  "json",
  "math",
  "numbers",
  "operator",
  "os",
  "random",
  "re",
  "statistics",
  "string",
  "sys",
  "textwrap",
  "time",
  "typing",
];

/**
 * Returns the plan of the plain image, for a build in a process or in a worker. The size of the C stack depends on that
 * of V8's stack, which is 1 MiB where no flags can be given.
 */
export function plainImagePlan(
  { lock, wasm }: PyodideFiles,
  { cStackBytes }: Pick<PlainImagePlan, "cStackBytes">,
): Omit<PlainImagePlan, "loaderUrl"> {
  const errors = LINUX_ERRORS.map(([name, , linux, text]) => [name, linux, text] as const);
  return { lock, prepare, preimports: COMMON_MODULES, cStackBytes, errors, errorTexts: errorTexts(wasm) };
}

/** Returns what a profile adds to the plain image. */
export function imageExtension({ name, preimports, preload, network }: Profile): ImageExtension {
  const sources = {
    bridge,
    signals,
    alarms,
    scheduler,
    namespaces,
    processes,
    exit_functions: exitFunctions,
    pipes,
    descriptors,
    commands,
    locks,
    threads,
    polling,
    addresses,
    hosts,
    options: socketOptions,
    endpoints,
    streams,
    messages,
    outside,
    ancillary,
    socket_type: socketType,
    socket_module: socketModule,
    tls,
    timers,
    missing,
    report,
    program_end: programEnd,
    posix_names: posixNames,
    strftime,
    tool_arguments: toolArguments,
    tools,
    event_loop: eventLoop,
    values,
    pretty,
    display,
    cells,
    runner,
    program,
    subprocesses,
    magics,
    library_additions: libraryAdditions,
  };
  const extension = {
    sources,
    preimports,
    profile: guestName(name),
    ...(network?.secrets && { environment: placeholdersOf(network) }),
  };
  if (!preload) return extension;
  return { ...extension, preload: { module: preload.module, source: preload.source } };
}

function guestModules(modules: Readonly<Record<string, string>>): GuestModule[] {
  return Object.entries(modules).map(([name, source]) => ({
    name: `${name}.ts`,
    source: stripTypeScriptTypes(source),
  }));
}

/** Matches the places where Emscripten's JavaScript names an export. */
const EXPORT_USE = /\bwasmExports(?:\["([^"]+)"\]|\.([\w$]+))/g;

/** Returns the names of the functions that Emscripten's JavaScript, all of it or a part, and the guest call. */
export function exportedFunctions({ factory }: Pick<PyodideFiles, "factory">): Set<string> {
  const text = new TextDecoder().decode(factory);
  const named = [...text.matchAll(EXPORT_USE)].map(([, quoted, dotted = ""]) => quoted ?? dotted);
  return new Set([...named, ...CALLED_BY_GUEST]);
}

/** Options of {@linkcode leanWasm}. */
export interface LeanWasmOptions {
  /** True to keep the data, which are needed to build a plain image only. */
  readonly data: boolean;
  /**
   * Names of the exported functions of a module without data.
   *
   * @default those that Emscripten's JavaScript and the guest name
   */
  readonly functions?: ReadonlySet<string>;
}

/**
 * Returns the Wasm module with some exported functions. The functions that Emscripten's JavaScript names are in the
 * table, so that `ctypes` finds them. Sizes are sizes of 64-bit machines where they are limits, and the C stack is
 * larger. A module without data raises exceptions with the numbers of Linux.
 */
export function leanWasm(
  { wasm, factory }: Pick<PyodideFiles, "wasm" | "factory">,
  { data, functions }: LeanWasmOptions,
): Uint8Array<ArrayBuffer> {
  const withheld = new Set(REFERENCE_CALLS);
  const all = exportedFunctions({ factory });
  const wide = widenSizes(widenCStack(wasm));
  const changed = addToTable(data ? wide : raiseLinuxErrors(wide), {
    names: all.difference(withheld),
    withheld: REFERENCE_CALLS,
    isRestored: !data,
  });
  return stripWasm(changed, { functions: data ? all : (functions ?? all).difference(withheld), data });
}
