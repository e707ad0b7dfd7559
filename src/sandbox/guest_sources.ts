import { stripTypeScriptTypes } from "node:module";
import assets from "./guest/assets.ts" with { type: "text" };
import bridge from "./guest/bridge.py" with { type: "text" };
import build from "./guest/build.ts" with { type: "text" };
import channel from "./guest/channel.ts" with { type: "text" };
import devices from "./guest/devices.ts" with { type: "text" };
import entropy from "./guest/entropy.ts" with { type: "text" };
import eventLoop from "./guest/event_loop.py" with { type: "text" };
import fileQuota from "./guest/file_quota.ts" with { type: "text" };
import prepare from "./guest/prepare.py" with { type: "text" };
import protocol from "./protocol.ts" with { type: "text" };
import python from "./guest/python.ts" with { type: "text" };
import readOnlyFiles from "./guest/read_only_files.ts" with { type: "text" };
import realm from "./guest/realm.ts" with { type: "text" };
import recursion from "./guest/recursion.py" with { type: "text" };
import ring from "./guest/ring.ts" with { type: "text" };
import runner from "./guest/runner.py" with { type: "text" };
import session from "./guest/session.ts" with { type: "text" };
import sessionFiles from "./guest/session_files.ts" with { type: "text" };
import supervisor from "./guest/supervisor.ts" with { type: "text" };
import thrownText from "./guest/thrown_text.ts" with { type: "text" };
import tools from "./guest/tools.py" with { type: "text" };
import worker from "./guest/worker.ts" with { type: "text" };
import workerLink from "./guest/worker_link.ts" with { type: "text" };

/** A JavaScript module of the guest, as it is run. */
export interface GuestModule {
  readonly name: string;
  readonly source: string;
}

/** The supervisor's files; they lie side by side in the cache, `supervisor.js` the one to run. */
export function supervisorModules(): GuestModule[] {
  const modules = { protocol, ring, assets, worker_link: workerLink, supervisor };
  return Object.entries(modules).map(([name, source]) => ({
    name: `${name}.js`,
    source: stripTypeScriptTypes(source).replace(/(from )"\.{1,2}\/(\w+)\.ts"/g, '$1"./$2.js"'),
  }));
}

/** The worker's modules, each after those it imports; the last is the worker itself. */
export function workerModules(): GuestModule[] {
  const modules = {
    ...{ protocol, realm, ring, channel, session_files: sessionFiles, read_only_files: readOnlyFiles },
    ...{ file_quota: fileQuota, entropy, devices, python, build },
    ...{ thrown_text: thrownText, session, worker },
  };
  return Object.entries(modules).map(([name, source]) => ({
    name: `${name}.ts`,
    source: stripTypeScriptTypes(source),
  }));
}

/** The guest's Python, in the order in which it runs, and the script that puts it into the image. */
export const PYTHON_SOURCES: {
  readonly modules: Readonly<Record<string, string>>;
  readonly prepare: string;
} = {
  modules: { bridge, recursion, tools, event_loop: eventLoop, runner },
  prepare,
};
