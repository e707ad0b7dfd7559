import asyncProcesses from "../guest/library/_async_processes.py" with { type: "text" };
import csv from "../guest/library/csv.py" with { type: "text" };
import dbm from "../guest/library/dbm/__init__.py" with { type: "text" };
import dumb from "../guest/library/dbm/dumb.py" with { type: "text" };
import dbmSqlite from "../guest/library/dbm/sqlite3.py" with { type: "text" };
import grp from "../guest/library/grp.py" with { type: "text" };
import localTime from "../guest/library/_local_time.py" with { type: "text" };
import shellPackages from "../guest/library/_shell_packages.py" with { type: "text" };
import shellArchives from "../guest/library/_shell_archives.py" with { type: "text" };
import shellGzip from "../guest/library/_shell_gzip.py" with { type: "text" };
import semaphores from "../guest/library/_multiprocessing.py" with { type: "text" };
import mpConnection from "../guest/library/multiprocessing/connection.py" with { type: "text" };
import mpContext from "../guest/library/multiprocessing/context.py" with { type: "text" };
import mpHeap from "../guest/library/multiprocessing/heap.py" with { type: "text" };
import mpManagers from "../guest/library/multiprocessing/managers.py" with { type: "text" };
import mpResourceTracker from "../guest/library/multiprocessing/resource_tracker.py" with { type: "text" };
import mpUtil from "../guest/library/multiprocessing/util.py" with { type: "text" };
import pwd from "../guest/library/pwd.py" with { type: "text" };
import webbrowser from "../guest/library/webbrowser.py" with { type: "text" };
import resource from "../guest/library/resource.py" with { type: "text" };
import { LATE_MODULES } from "./late_modules.ts";
import type { LibraryFile } from "./native_libraries.ts";
import type { PyodideFiles } from "./pyodide.ts";

/** Directory of single modules in Python's path, relative to the mount of the library. */
const MODULES_DIRECTORY = "/python3.14/lib-dynload";

/** Modules of the standard library that Pyodide lacks, by path. They are part of an image's cache key. */
export const OWN_LIBRARY: Readonly<Record<string, string>> = {
  "_local_time.py": localTime,
  "dbm/__init__.py": dbm,
  "dbm/dumb.py": dumb,
  "dbm/sqlite3.py": dbmSqlite,
  "_async_processes.py": asyncProcesses,
  "_multiprocessing.py": semaphores,
  "_shell_archives.py": shellArchives,
  "_shell_gzip.py": shellGzip,
  "_shell_packages.py": shellPackages,
  "_additions/csv.py": csv,
  "_additions/connection.py": mpConnection,
  "_additions/context.py": mpContext,
  "_additions/heap.py": mpHeap,
  "_additions/managers.py": mpManagers,
  "_additions/resource_tracker.py": mpResourceTracker,
  "_additions/util.py": mpUtil,
  "_additions/webbrowser.py": webbrowser,
  "grp.py": grp,
  "pwd.py": pwd,
  "resource.py": resource,
  ...Object.fromEntries(Object.entries(LATE_MODULES).map(([name, source]) => [`_late/${name}.py`, source])),
};

/** Paths of the late modules, relative to the mount of the library. */
export const LATE_PATHS: readonly string[] = Object.keys(LATE_MODULES)
  .map((name) => `${MODULES_DIRECTORY}/_late/${name}.py`);

/** Directory of the zones, relative to the mount of the library. The guest links `/usr/share/zoneinfo` to it. */
const ZONES_DIRECTORY = "/zoneinfo";

/** Time zones in one compressed piece, in which files with the same contents occur once. */
export interface ZoneData {
  /** File name of the package that the zones are from. */
  readonly source: string;
  /** Offset and length of each zone's file. */
  readonly zones: Readonly<Record<string, readonly number[]>>;
  /** The files, joined, compressed with zlib, in base64. */
  readonly files: string;
}

/** Path of the archive with the standard library's modules, relative to the mount of the library. */
const ARCHIVE = "/python314.zip";

/** Modules that sessions do not import, or of which the C version is used. They get no byte code. */
const WITHOUT_BYTE_CODE =
  /^(?:encodings|pyodide|_pyodide|_pyrepl|wsgiref|xmlrpc|__phello__)\/|^(?:_py|pydoc)/;

/**
 * Returns the paths of the archive's modules that programs import, relative to the mount of the library.
 *
 * @param imported Modules and packages of an image, which no session imports.
 */
export async function standardModules(
  { stdlib }: Pick<PyodideFiles, "stdlib">,
  imported: readonly string[],
): Promise<string[]> {
  const isImported = (name: string) => imported.includes(name.replace(/(\.py|\/.*)$/, ""));
  const { unzipSync } = await import("fflate");
  const names: string[] = [];
  unzipSync(stdlib, { filter: ({ name }) => names.push(name) === 0 });
  return names.filter((name) => name.endsWith(".py") && !WITHOUT_BYTE_CODE.test(name) && !isImported(name))
    .map((name) => `${ARCHIVE}/${name}`);
}

/**
 * Returns the archive of the standard library with byte code beside the modules. Without it, each import compiles the
 * module twice, since `zipimport` compiles it to find out its file name.
 *
 * @param byteCode Files of byte code by the paths of their modules. Those outside the archive are left out.
 */
export async function addByteCode(
  stdlib: Uint8Array,
  byteCode: ReadonlyMap<string, Uint8Array>,
): Promise<Uint8Array> {
  const { unzipSync, zipSync } = await import("fflate");
  const files = unzipSync(stdlib);
  for (const [path, contents] of byteCode) {
    if (!path.startsWith(ARCHIVE)) continue;
    files[`${path.slice(ARCHIVE.length + 1)}c`] = contents as Uint8Array<ArrayBuffer>;
  }
  return zipSync(files, { mtime: new Date(1980, 0, 1) }); // the same time always, so that the bytes are the same
}

/**
 * Returns the files of Python's standard library, and the time zones that the library reads.
 *
 * @param byteCode Files of byte code of {@linkcode LATE_PATHS}.
 */
export async function standardLibrary(
  { stdlib, byteCode = new Map() }: Pick<PyodideFiles, "stdlib"> & {
    byteCode?: ReadonlyMap<string, Uint8Array>;
  },
): Promise<LibraryFile[]> {
  const encoder = new TextEncoder();
  const own = Object.entries(OWN_LIBRARY).map(([path, source]) => ({
    path: `${MODULES_DIRECTORY}/${path}`,
    contents: encoder.encode(source),
  }));
  const late = LATE_PATHS.flatMap((path) => {
    const contents = byteCode.get(path);
    return contents ? [{ path: `${path}c`, contents }] : [];
  });
  return [{ path: ARCHIVE, contents: stdlib }, ...own, ...late, ...await zoneFiles()];
}

/** Returns the time zones of the IANA database in the format TZif, which `zoneinfo` and other libraries read. */
async function zoneFiles(): Promise<LibraryFile[]> {
  const { default: data } = await import("./zoneinfo.json", { with: { type: "json" } });
  const { zones, files }: ZoneData = data;
  const stream = new Blob([Uint8Array.fromBase64(files)]).stream();
  const bytes = await new Response(stream.pipeThrough(new DecompressionStream("deflate"))).bytes();
  return Object.entries(zones).map(([name, [start = 0, length = 0]]) => ({
    path: `${ZONES_DIRECTORY}/${name}`,
    contents: bytes.subarray(start, start + length),
  }));
}
