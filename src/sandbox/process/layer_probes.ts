import { stripTypeScriptTypes } from "node:module";
import { errorMessage } from "../../errors.ts";
import confineSource from "../guest/supervisor/confine.ts" with { type: "text" };
import allowedCallsSource from "../guest/supervisor/allowed_calls.ts" with { type: "text" };
import type { Layer } from "../profile/schema.ts";
import { type Rlimits, rlimitScript } from "./child_command.ts";
import { delegatedGroup, MemoryGroup } from "./memory_cgroup.ts";
import { bubblewrapPrefix, confinedCommand } from "./namespaces.ts";

/** Options of {@linkcode LayerProbes}. */
export interface ProbeOptions {
  /** Resource limits to try. A host may allow some values and not others. */
  rlimits?: Rlimits | undefined;
  signal?: AbortSignal | undefined;
}

/** Reason why each layer does not work; `undefined` for a layer that works. */
type Reasons = Partial<Readonly<Record<Layer, string | undefined>>>;

/** Limit of memory of the group that is tried, in bytes. */
const PROBE_BYTES = 1024 * 1024 * 1024;

const SMALL_LIMITS: Rlimits = { dataKib: 2_097_152, openFiles: 64, cpuSeconds: 3_000 };

/** Attempts to use the layers on this host. Layers that the same process tries are tried once. */
export class LayerProbes {
  readonly #options: ProbeOptions;
  #namespaces: Promise<Reasons> | undefined;
  #ownLayers: Promise<Reasons> | undefined;

  constructor(options: ProbeOptions) {
    this.#options = options;
  }

  /**
   * Tries a layer with the layer's program. Returns the reason why the layer does not work, or `undefined`.
   */
  async probe(layer: Layer, program: string): Promise<string | undefined> {
    const { rlimits = SMALL_LIMITS, signal } = this.#options;
    switch (layer) {
      case "rlimits":
        return await probeRlimits(program, rlimits, signal);
      case "noNewPrivs":
        return await probeSetpriv(program, ["--no-new-privs"], /^no_new_privs: 1$/m, signal);
      case "parentDeath":
        return await probeSetpriv(program, ["--pdeathsig", "KILL"], /^Parent death signal: KILL$/m, signal);
      case "bubblewrap":
        return await probeBubblewrap(program, signal);
      case "memoryCgroup":
        return probeMemoryGroup();
      case "watchdog":
      case "descriptors":
      case "seccomp":
      case "landlock":
      case "speculation":
        return (await (this.#ownLayers ??= probeOwnLayers()))[layer];
      default:
        return (await (this.#namespaces ??= probeNamespaces(signal)))[layer];
    }
  }
}

/** True if this process is root. Windows has no such user. */
export function isRoot(): boolean {
  return Deno.uid() === 0;
}

async function probeRlimits(
  shell: string,
  limits: Rlimits,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const args = ["-c", rlimitScript(limits), shell, shell, "-c", "ulimit -d"];
  const { success, stdout, reason } = await run(shell, args, signal);
  if (!success) return reason;
  if (stdout.trim() === String(limits.dataKib)) return undefined;
  return `RLIMIT_DATA was set to ${limits.dataKib} KiB and is ${stdout.trim()}`;
}

/** Runs setpriv inside setpriv, so that the inner setpriv prints the effect of the outer setpriv. */
async function probeSetpriv(
  setpriv: string,
  flags: readonly string[],
  proof: RegExp,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { success, stdout, reason } = await run(setpriv, [...flags, "--", setpriv, "--dump"], signal);
  if (!success) return reason;
  return proof.test(stdout) ? undefined : `'${flags.join(" ")}' had no effect`;
}

/** Runs bubblewrap under itself, with the flags that a sandbox gets. */
async function probeBubblewrap(bwrap: string, signal?: AbortSignal): Promise<string | undefined> {
  const [, ...flags] = bubblewrapPrefix([bwrap]);
  const { success, reason } = await run(bwrap, [...flags, bwrap, "--version"], signal);
  return success ? undefined : reason;
}

function probeMemoryGroup(): string | undefined {
  try {
    using _group = MemoryGroup.create(delegatedGroup(), PROBE_BYTES);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

const NAMESPACES: readonly Layer[] = ["netNamespace", "ipcNamespace", "utsNamespace", "pidNamespace"];

/**
 * Runs Deno behind all namespaces together. Only if Deno does not start there, tries Deno with fewer
 * namespaces, to find the namespaces that work.
 */
async function probeNamespaces(signal?: AbortSignal): Promise<Reasons> {
  const deno = Deno.execPath();
  const attempt = async (...layers: Layer[]) => {
    const options = { layers: new Set(layers), paths: [deno], isRoot: isRoot() };
    const [program = deno, ...args] = confinedCommand([deno, "--version"], options);
    const { success, reason } = await run(program, args, signal);
    return success ? undefined : reason;
  };
  const user: readonly Layer[] = ["userNamespace", "capabilities"];
  const unprivilegedUser = await attempt(...user, ...NAMESPACES, "mountNamespace", "unprivilegedUser");
  if (unprivilegedUser === undefined) return {};
  const asRoot = isRoot() ? { unprivilegedUser } : {};
  const mountNamespace = isRoot()
    ? await attempt(...user, ...NAMESPACES, "mountNamespace")
    : unprivilegedUser;
  if (mountNamespace === undefined) return asRoot;
  const others = await attempt(...user, ...NAMESPACES);
  if (others === undefined) return { ...asRoot, mountNamespace };
  const reasons: Partial<Record<Layer, string | undefined>> = { ...asRoot, mountNamespace };
  reasons.userNamespace = await attempt("userNamespace");
  reasons.capabilities = await attempt("capabilities", ...(reasons.userNamespace ? [] : user));
  for (const layer of NAMESPACES) {
    reasons[layer] = reasons.userNamespace ?? await attempt("userNamespace", layer);
  }
  return reasons;
}

/** Limits of the process that tries its own layers. */
const PROBE_FILES = 64;

/**
 * Starts a process that takes up its own layers in turn, and prints the layers that the kernel
 * refuses. Reads the process's files as the watchdog does.
 */
async function probeOwnLayers(): Promise<Reasons> {
  await using child = startProbe();
  const watchdog = await readUsageFiles(child.pid);
  try {
    return { watchdog, ...JSON.parse(await child.readLine()) as Reasons };
  } catch (error) {
    const why = `its attempt ended early: ${errorMessage(error)}`;
    return { watchdog, descriptors: why, seccomp: why, landlock: why, speculation: why };
  }
}

/**
 * Source of the process that tries its own layers. Each layer is tried alone, as a layer may work without the
 * others.
 */
function probeSource(): string {
  const allowedCalls = moduleUrl(allowedCallsSource);
  const confine = moduleUrl(confineSource.replace('"./allowed_calls.ts"', `"${allowedCalls}"`));
  return `import { confine } from "${confine}";
const reasons = {};
for (const layer of ["descriptors", "speculation", "landlock", "seccomp"]) {
  try {
    confine({ layers: [layer], readable: [], openFiles: ${PROBE_FILES} });
  } catch (error) {
    reasons[layer] = error.message;
  }
}
console.log(JSON.stringify(reasons));
await new Promise(() => setInterval(() => {}, 1_000_000));
`;
}

function moduleUrl(source: string): string {
  return `data:text/javascript,${encodeURIComponent(stripTypeScriptTypes(source))}`;
}

function startProbe(): AsyncDisposable & { readonly pid: number; readLine(): Promise<string> } {
  const flags = ["--no-prompt", "--no-config", "--no-lock", "--no-remote", "--no-npm", "--allow-ffi"];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, `data:text/javascript,${encodeURIComponent(probeSource())}`],
    clearEnv: true,
    env: { DENO_DIR: "/proc/nope", DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  return {
    pid: child.pid,
    async readLine() {
      const { value } = await reader.read();
      return new TextDecoder().decode(value);
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await reader.cancel();
    },
  };
}

async function readUsageFiles(pid: number): Promise<string | undefined> {
  try {
    await Deno.readTextFile(`/proc/${pid}/statm`);
    await Deno.readTextFile(`/proc/${pid}/stat`);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

interface Outcome {
  readonly success: boolean;
  readonly stdout: string;
  /** First line of stderr, or the reason why the program could not run. */
  readonly reason: string;
}

async function run(program: string, args: string[], signal?: AbortSignal): Promise<Outcome> {
  try {
    const command = new Deno.Command(program, {
      args,
      clearEnv: true,
      stdin: "null",
      ...(signal && { signal }),
    });
    const { success, code, stdout, stderr } = await command.output();
    const [line = ""] = new TextDecoder().decode(stderr).trim().split("\n");
    const reason = line === "" ? `${program} ended with code ${code}` : line;
    return { success, stdout: new TextDecoder().decode(stdout), reason };
  } catch (error) {
    signal?.throwIfAborted();
    return { success: false, stdout: "", reason: errorMessage(error) };
  }
}
