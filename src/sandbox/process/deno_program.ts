import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { SandboxError } from "../../errors.ts";
import { type Layer, LAYER_PROGRAMS } from "../profile/schema.ts";
import { type Rlimits, rlimitScript, setprivPrefix } from "./command.ts";
import { grantFlags, type Grants, grantsAny, isWithin, mayRead } from "./grants.ts";

/** What a program of somebody else is, and what it may reach. */
export interface DenoProgram {
  /** What Deno runs: a file's path or URL, or `npm:name@version`. */
  readonly module: string;
  readonly args?: readonly string[] | undefined;
  /** What is granted to it; nothing unless given. */
  readonly permissions?: Grants | undefined;
  /** Its whole environment, beside what Deno itself needs. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Bytes of JavaScript objects and buffers; 256 MiB unless given. */
  readonly memoryBytes?: number | undefined;
  /** What {@linkcode detectLayers} found to work: resource limits, no_new_privs, the parent-death signal. */
  readonly layers: ReadonlySet<Layer>;
}

/** A command line with the whole environment of the process. */
export interface DenoCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const MIB = 1024 * 1024;

/** Measured: V8 counts 550 MB for an isolate before any code runs, and aborts below some 700. */
const BASE_BYTES = 750 * MIB;
const OPEN_FILES = 256;
/** Its life is as long as that of its host: a backstop alone. */
const CPU_SECONDS = 24 * 3_600;

/**
 * The command that runs a program under permissions of its own: nobody is asked, no configuration of the host is
 * read, no code is fetched while it runs, and what {@linkcode fetchModules} got may be imported only where the
 * permission `import` is granted or the program itself is a package.
 *
 * @throws {TypeError} when a permission cannot be granted.
 */
export async function denoCommand(options: DenoProgram): Promise<DenoCommand> {
  const { module, args = [], permissions = {}, env = {}, memoryBytes = 256 * MIB, layers } = options;
  const denoDir = hasPackages(options) ? await cacheDir() : NO_CACHE;
  // Deno itself writes down what it has found out about a package.
  const writes = hasPackages(options) || grantsAny(permissions.write);
  const [program = Deno.execPath(), ...rest] = [
    ...(layers.has("rlimits") ? rlimitPrefix(memoryBytes, writes) : []),
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
    ...grantFlags(permissions),
    module,
    ...args,
  ];
  const own = { DENO_DIR: denoDir, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };
  return { program, args: rest, env: { ...own, ...env } };
}

/**
 * Fetches what a program imports into Deno's cache, with the host's network and environment, before it runs.
 * Does nothing for one that may import nothing.
 *
 * @throws {SandboxError} when something cannot be fetched.
 */
export async function fetchModules(
  { module, permissions = {}, env = {} }: DenoProgram,
  signal?: AbortSignal,
): Promise<void> {
  if (!hasPackages({ module, permissions })) return;
  const importing = grantFlags(permissions).filter((flag) => /^--(allow|deny)-import/.test(flag));
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["cache", "--quiet", "--no-config", "--no-lock", "--node-modules-dir=none", ...importing, module],
    env: { ...env, NO_COLOR: "1" },
    cwd: "/",
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    ...(signal && { signal }),
  }).output();
  signal?.throwIfAborted();
  if (success) return;
  const [complaint = ""] = new TextDecoder().decode(stderr).trim().split("\n\n");
  throw new SandboxError(`Cannot fetch '${module}': ${complaint}`);
}

/** Where Deno cannot make its folder, it has no localStorage and no Cache API. */
const NO_CACHE = "/proc/nope";

function hasPackages({ module, permissions }: Pick<DenoProgram, "module" | "permissions">): boolean {
  return /^(npm|jsr|https?):/.test(module) || grantsAny(permissions?.import);
}

/** Where this Deno keeps what it fetched. */
async function cacheDir(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--no-config"],
    stdin: "null",
    stderr: "null",
  }).output();
  const { denoDir } = JSON.parse(new TextDecoder().decode(stdout)) as { denoDir?: string };
  if (denoDir !== undefined) return denoDir;
  throw new SandboxError("Cannot find Deno's cache as 'deno info' does not tell");
}

function rlimitPrefix(memoryBytes: number, writes: boolean): string[] {
  const limits: Rlimits = {
    dataKib: Math.ceil((BASE_BYTES + 2 * memoryBytes) / 1024),
    openFiles: OPEN_FILES,
    cpuSeconds: CPU_SECONDS,
    writes,
  };
  return [LAYER_PROGRAMS.rlimits, "-c", rlimitScript(limits), "sh"];
}

/** What of `deno info --json` is looked at. */
interface ModuleGraph {
  readonly modules: readonly { readonly specifier: string }[];
}

/** Nothing is fetched to look at it. */
const CLOSED = ["--no-remote", "--no-npm"];

/**
 * Refuses a program of files that imports what lies outside of its own folder and of what it may read. Deno itself
 * lets a program import, without any permission, whatever its text names: another program's code, or any text.
 *
 * @throws {SandboxError} with the first such file.
 */
export async function requireOwnModules(
  { module, permissions = {} }: DenoProgram,
  signal?: AbortSignal,
): Promise<void> {
  if (/^(?!file:)[a-z]+:/.test(module)) return; // packages and the web are held to the permissions
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "info",
      "--json",
      "--no-config",
      "--no-lock",
      ...(grantsAny(permissions.import) ? [] : CLOSED),
      module,
    ],
    stdin: "null",
    stderr: "null",
    ...(signal && { signal }),
  }).output();
  signal?.throwIfAborted();
  if (code !== 0) {
    throw new SandboxError(`Cannot start '${module}' as 'deno info' does not tell what it imports`);
  }
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as ModuleGraph;
  const own = dirname(module.startsWith("file:") ? fileURLToPath(module) : resolve(module));
  const foreign = modules.map(({ specifier }) => specifier)
    .filter((specifier) => specifier.startsWith("file:"))
    .map((specifier) => fileURLToPath(specifier))
    .find((path) => !isWithin(path, own) && !mayRead(permissions.read, path));
  if (foreign === undefined) return;
  throw new SandboxError(
    `Cannot start '${module}' as it imports '${foreign}': what it imports must lie in its folder or be granted by 'read'`,
  );
}
