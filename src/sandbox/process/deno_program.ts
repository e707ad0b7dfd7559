import { dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { SandboxError } from "../../errors.ts";
import { type Layer, LAYER_PROGRAMS } from "../profile/schema.ts";
import { type Rlimits, rlimitScript } from "./child_command.ts";
import { setprivPrefix } from "./namespaces.ts";
import { grantFlags, type Grants, grantsAny, isWithin, mayRead } from "./grants.ts";

/** A third-party program that Deno runs, and its permissions. */
export interface DenoProgram {
  /** Path or URL of a file, or `npm:name@version`. */
  readonly module: string;
  readonly args?: readonly string[] | undefined;
  /**
   * Granted permissions.
   *
   * @default none
   */
  readonly permissions?: Grants | undefined;
  /** Environment of the program. Only the variables that Deno needs are added. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * Memory for JavaScript objects and buffers, in bytes.
   *
   * @default 268_435_456
   */
  readonly memoryBytes?: number | undefined;
  /**
   * Number of files and connections that the program may have open.
   *
   * @default 256
   */
  readonly openFiles?: number | undefined;
  /** Path of an import map. @default none */
  readonly importMap?: string | undefined;
  /** Layers that work on this host. Those used are `rlimits`, `noNewPrivs` and `parentDeath`. */
  readonly layers: ReadonlySet<Layer>;
}

/** A command line with the complete environment of the process. */
export interface DenoCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const MIB = 1024 * 1024;

/** Measured: V8 needs 550 MB for an isolate before any code runs, and aborts with less than about 700. */
const BASE_BYTES = 750 * MIB;
const OPEN_FILES = 256;
/** CPU time, in seconds. Only a backstop, as the program runs as long as its host. */
const CPU_SECONDS = 24 * 3_600;

/**
 * Returns the command that runs a program with its permissions. Deno does not prompt, reads no configuration
 * of the host, and fetches no code at run time. Modules from {@linkcode fetchModules} may be imported only if
 * the permission `import` is granted or the program itself is a package.
 *
 * @throws {TypeError} if a permission cannot be granted.
 */
export async function denoCommand(options: DenoProgram): Promise<DenoCommand> {
  const { module, args = [], permissions = {}, env = {}, memoryBytes = 256 * MIB, layers } = options;
  const { openFiles = OPEN_FILES } = options;
  const denoDir = hasPackages(options) ? await cacheDir() : NO_CACHE;
  // Deno itself writes metadata of packages to its cache.
  const writes = hasPackages(options) || grantsAny(permissions.write);
  const [program = Deno.execPath(), ...rest] = [
    ...(layers.has("rlimits") ? rlimitPrefix({ memoryBytes, openFiles, writes }) : []),
    ...setprivPrefix(layers),
    Deno.execPath(),
    "run",
    "--quiet",
    "--no-prompt",
    "--no-config",
    "--no-lock",
    "--cached-only",
    ...(hasPackages(options) ? ["--node-modules-dir=none"] : ["--no-remote", "--no-npm"]),
    `--v8-flags=--max-old-space-size=${Math.ceil(memoryBytes / MIB)}`,
    ...importMapFlags(options),
    ...grantFlags(permissions),
    module,
    ...args,
  ];
  const denoEnv = { DENO_DIR: denoDir, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };
  return { program, args: rest, env: { ...denoEnv, ...env } };
}

/**
 * Fetches the modules that a program imports into Deno's cache, with the host's network and environment,
 * before the program runs. Does nothing if the program may not import packages.
 *
 * @throws {SandboxError} if a module cannot be fetched.
 */
export async function fetchModules(
  { module, permissions = {}, env = {}, importMap }: DenoProgram,
  signal?: AbortSignal,
): Promise<void> {
  if (!hasPackages({ module, permissions })) return;
  const importing = grantFlags(permissions).filter((flag) => /^--(allow|deny)-import/.test(flag));
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "cache",
      "--quiet",
      "--no-config",
      "--no-lock",
      "--node-modules-dir=none",
      ...importMapFlags({ importMap }),
      ...importing,
      module,
    ],
    env: { ...env, NO_COLOR: "1" },
    cwd: "/",
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    ...(signal && { signal }),
  }).output();
  signal?.throwIfAborted();
  if (success) return;
  const [reason = ""] = new TextDecoder().decode(stderr).trim().split("\n\n");
  throw new SandboxError(`Cannot fetch '${module}': ${reason}`);
}

function importMapFlags({ importMap }: Pick<DenoProgram, "importMap">): string[] {
  return importMap === undefined ? [] : [`--import-map=${importMap}`];
}

/** A directory that Deno cannot create, so that Deno has no localStorage and no Cache API. */
const NO_CACHE = "/proc/nope";

function hasPackages({ module, permissions }: Pick<DenoProgram, "module" | "permissions">): boolean {
  return /^(npm|jsr|https?):/.test(module) || grantsAny(permissions?.import);
}

/** Returns the cache directory of this Deno. */
async function cacheDir(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--no-config"],
    stdin: "null",
    stderr: "null",
  }).output();
  const { denoDir } = JSON.parse(new TextDecoder().decode(stdout)) as { denoDir?: string };
  if (denoDir !== undefined) return denoDir;
  throw new SandboxError("Cannot find Deno's cache: 'deno info' printed no 'denoDir'");
}

function rlimitPrefix(
  { memoryBytes, openFiles, writes }: { memoryBytes: number; openFiles: number; writes: boolean },
): string[] {
  const limits: Rlimits = {
    dataKib: Math.ceil((BASE_BYTES + 2 * memoryBytes) / 1024),
    openFiles,
    cpuSeconds: CPU_SECONDS,
    writes,
  };
  return [LAYER_PROGRAMS.rlimits, "-c", rlimitScript(limits), "sh"];
}

/** The part of `deno info --json` that is used. */
interface ModuleGraph {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly code?: { readonly specifier?: string };
      readonly isDynamic?: boolean;
    }[];
  }[];
}

/** Flags with which `deno info` fetches nothing. */
const NO_FETCH = ["--no-remote", "--no-npm"];

/** Returns the modules of a program; `undefined` if Deno cannot list them. */
async function readGraph(
  { module, permissions = {}, importMap }: DenoProgram,
  signal: AbortSignal | undefined,
): Promise<ModuleGraph | undefined> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "info",
      "--json",
      "--no-config",
      "--no-lock",
      ...importMapFlags({ importMap }),
      ...(grantsAny(permissions.import) ? [] : NO_FETCH),
      module,
    ],
    stdin: "null",
    stderr: "null",
    ...(signal && { signal }),
  }).output();
  signal?.throwIfAborted();
  return success ? JSON.parse(new TextDecoder().decode(stdout)) as ModuleGraph : undefined;
}

/**
 * Returns the path of a program and of the files of the program's folder that the program imports statically.
 * Files of dynamic imports are left out, since `import("./" + name)` stands for all modules of the folder.
 * The program's module is a path.
 */
export async function listStaticImports(program: DenoProgram, signal?: AbortSignal): Promise<string[]> {
  const { module } = program;
  const { modules = [] } = await readGraph(program, signal) ?? {};
  const dependencies = new Map(modules.map(({ specifier, dependencies = [] }) => [specifier, dependencies]));
  const found = new Set([pathToFileURL(module).href]);
  for (const specifier of found) {
    for (const { code, isDynamic } of dependencies.get(specifier) ?? []) {
      if (code?.specifier !== undefined && !isDynamic) found.add(code.specifier);
    }
  }
  return toPaths(found).filter((path) => isWithin(path, dirname(module)));
}

function toPaths(specifiers: Iterable<string>): string[] {
  return [...specifiers].filter((specifier) => specifier.startsWith("file:"))
    .map((specifier) => fileURLToPath(specifier));
}

/**
 * Refuses a program that imports a file outside its own directory and outside the paths that the program may
 * read. Deno itself needs no permission for a static import, so a program could import the code of another
 * program, or any text file.
 *
 * @throws {SandboxError} if there is such a file; the message names the first such file.
 */
export async function requireOwnModules(program: DenoProgram, signal?: AbortSignal): Promise<void> {
  const { module, permissions = {} } = program;
  if (/^(?!file:)[a-z]+:/.test(module)) return; // for packages and URLs Deno checks the permissions
  const graph = await readGraph(program, signal);
  if (graph === undefined) {
    throw new SandboxError(`Cannot start '${module}': 'deno info' cannot list its imports`);
  }
  const directory = dirname(module.startsWith("file:") ? fileURLToPath(module) : resolve(module));
  const foreign = toPaths(graph.modules.map(({ specifier }) => specifier))
    .find((path) => !isWithin(path, directory) && !mayRead(permissions.read, path));
  if (foreign === undefined) return;
  throw new SandboxError(
    `Cannot start '${module}' as its imports must lie in its folder or be granted by 'read': found '${foreign}'`,
  );
}
