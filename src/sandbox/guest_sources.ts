import { stripTypeScriptTypes } from "node:module";
import assets from "./guest/assets.ts" with { type: "text" };
import bridge from "./guest/bridge.py" with { type: "text" };
import build from "./guest/build.ts" with { type: "text" };
import byteText from "./guest/byte_text.ts" with { type: "text" };
import callLimits from "./guest/call_limits.ts" with { type: "text" };
import channel from "./guest/channel.ts" with { type: "text" };
import closures from "./guest/closures.ts" with { type: "text" };
import devices from "./guest/devices.ts" with { type: "text" };
import entropy from "./guest/entropy.ts" with { type: "text" };
import eventLoop from "./guest/event_loop.py" with { type: "text" };
import fileQuota from "./guest/file_quota.ts" with { type: "text" };
import frameMerger from "./guest/frame_merger.ts" with { type: "text" };
import justBash from "./guest/just_bash.ts" with { type: "text" };
import pathError from "./guest/path_error.ts" with { type: "text" };
import keptCalls from "./guest/kept_calls.ts" with { type: "text" };
import killSwitch from "./guest/kill_switch.ts" with { type: "text" };
import nativeCalls from "./guest/native_calls.ts" with { type: "text" };
import prepare from "./guest/prepare.py" with { type: "text" };
import program from "./guest/program.py" with { type: "text" };
import protocol from "./protocol.ts" with { type: "text" };
import python from "./guest/python.ts" with { type: "text" };
import readOnlyFiles from "./guest/read_only_files.ts" with { type: "text" };
import realm from "./guest/realm.ts" with { type: "text" };
import recursion from "./guest/recursion.py" with { type: "text" };
import ring from "./guest/ring.ts" with { type: "text" };
import runner from "./guest/runner.py" with { type: "text" };
import session from "./guest/session.ts" with { type: "text" };
import sessionFiles from "./guest/session_files.ts" with { type: "text" };
import shell from "./guest/shell.ts" with { type: "text" };
import shellClock from "./guest/shell_clock.ts" with { type: "text" };
import shellFiles from "./guest/shell_files.ts" with { type: "text" };
import shellLimits from "./guest/shell_limits.ts" with { type: "text" };
import shellNames from "./guest/shell_names.ts" with { type: "text" };
import shellPrograms from "./guest/shell_programs.ts" with { type: "text" };
import shellRefusals from "./guest/shell_refusals.ts" with { type: "text" };
import shellTerminal from "./guest/shell_terminal.ts" with { type: "text" };
import supervisor from "./guest/supervisor.ts" with { type: "text" };
import thrownText from "./guest/thrown_text.ts" with { type: "text" };
import tools from "./guest/tools.py" with { type: "text" };
import worker from "./guest/worker.ts" with { type: "text" };
import workerLink from "./guest/worker_link.ts" with { type: "text" };
import zlib from "./guest/zlib.ts" with { type: "text" };
import shellBundle from "./shell_bundle.ts" with { type: "text" };

/** A JavaScript module of the guest, as it is run. */
export interface GuestModule {
  readonly name: string;
  readonly source: string;
}

/** The supervisor's files; they lie side by side in the cache, `supervisor.js` the one to run. */
export function supervisorModules(): GuestModule[] {
  const modules = {
    ...{ protocol, ring, assets, kill_switch: killSwitch, frame_merger: frameMerger },
    ...{ worker_link: workerLink, supervisor },
  };
  return Object.entries(modules).map(([name, source]) => ({
    name: `${name}.js`,
    source: stripTypeScriptTypes(source).replace(/(from )"\.{1,2}\/(\w+)\.ts"/g, '$1"./$2.js"'),
  }));
}

/** The worker's modules, each after those it imports; the last is the worker itself. */
export function workerModules(): GuestModule[] {
  const modules = {
    ...{
      protocol,
      realm,
      ring,
      kill_switch: killSwitch,
      channel,
      session_files: sessionFiles,
      read_only_files: readOnlyFiles,
    },
    ...{
      closures,
      native_calls: nativeCalls,
      call_limits: callLimits,
      kept_calls: keptCalls,
      file_quota: fileQuota,
    },
    ...{ entropy, devices, python, build },
    ...{ thrown_text: thrownText, session, worker },
  };
  return guestModules(modules);
}

/** The shell's modules beside its engine, which come after the worker's; the last is the shell itself. */
export function shellModules(): GuestModule[] {
  return guestModules({
    ...{ byte_text: byteText, shell_clock: shellClock, path_error: pathError, shell_files: shellFiles },
    ...{
      shell_names: shellNames,
      shell_programs: shellPrograms,
      shell_limits: shellLimits,
      shell_terminal: shellTerminal,
    },
    ...{ shell_refusals: shellRefusals, shell },
  });
}

/** What the shell's engine is made of and how, for the key under which an image is cached. */
export const SHELL_ENGINE: readonly string[] = [justBash, zlib, shellBundle];

/** The guest's Python, in the order in which it runs, and the script that puts it into the image. */
export interface PythonSources {
  readonly modules: Readonly<Record<string, string>>;
  readonly prepare: string;
}

/** The Python of an image; with a shell it also runs programs. */
export function pythonSources({ shell }: { shell: boolean }): PythonSources {
  const modules = { bridge, recursion, tools, event_loop: eventLoop, runner };
  return { modules: shell ? { ...modules, program } : modules, prepare };
}

function guestModules(modules: Readonly<Record<string, string>>): GuestModule[] {
  return Object.entries(modules).map(([name, source]) => ({
    name: `${name}.ts`,
    source: stripTypeScriptTypes(source),
  }));
}
