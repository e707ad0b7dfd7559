/** Kinds of attempts that are counted, as a profile's user would name what was refused. */
export interface DeniedCounts {
  files: number;
  network: number;
}

const OPEN = "__syscall_openat";
const SOCKET = "__syscall_socket";
/** Calls whose first argument is the address of a host's name. */
const NAME_CALLS = ["getaddrinfo", "_emscripten_lookup_name"];
/** Names of the machine itself. `uuid` and `platform` look them up. */
const OWN_NAMES: readonly string[] = ["", "localhost", "emscripten"];
/** Folders of a Linux host with data of the system or of other users. */
const SYSTEM_FOLDERS = /^\/(?:etc|proc|sys|root|var|boot|srv|opt|run|home)(?:\/|$)/;
/** Relative paths to such folders. A `..` may be the program's own folder. */
const UPWARDS = /^(?:\.\.\/){2,}(?=(?:etc|proc|root)(?:\/|$))/;
/** Files of these folders that describe the machine. Ordinary programs and the standard library read them. */
const DESCRIPTIONS: readonly string[] = [
  "/etc/hostname",
  "/etc/localtime",
  "/etc/mime.types",
  "/etc/os-release",
  "/etc/timezone",
  "/proc/cpuinfo",
  "/proc/loadavg",
  "/proc/meminfo",
  "/proc/self/stat",
  "/proc/self/statm",
  "/proc/self/status",
  "/proc/stat",
  "/proc/uptime",
  "/proc/version",
];
const MAX_PATH_BYTES = 4096;
const decoder = new TextDecoder();

type Call = (...args: number[]) => number;

/**
 * Counts attempts that the sandbox refuses: files of the system that a program tries to open, and its network calls.
 * The guest counts, so that the numbers are advice. A refusal does not depend on them.
 */
export class Denials {
  readonly #ownFolders: readonly string[];
  readonly #counts: DeniedCounts = { files: 0, network: 0 };

  /** `ownFolders` are the session's home and its mounts, of which no file is counted. */
  constructor(ownFolders: readonly string[]) {
    this.#ownFolders = ownFolders;
  }

  /** Begins an exec. */
  reset(): void {
    this.#counts.files = this.#counts.network = 0;
  }

  /** Returns the counts above 0; `undefined` if all are 0. */
  counts(): Partial<DeniedCounts> | undefined {
    const { files, network } = this.#counts;
    if (files === 0 && network === 0) return undefined;
    return { ...(files > 0 && { files }), ...(network > 0 && { network }) };
  }

  /** Returns the imports with a count of those calls that fail. `heap` returns Python's memory. */
  wrapImports(imports: WebAssembly.Imports, heap: () => Uint8Array): WebAssembly.Imports {
    const env = { ...imports.env };
    const open = env[OPEN] as Call;
    env[OPEN] = (...args: number[]) => {
      const result = open(...args);
      if (result < 0 && this.#isOutside(textAt(heap(), args[1]))) this.#counts.files++;
      return result;
    };
    this.#countCalls(env, SOCKET, () => true);
    for (const name of NAME_CALLS) {
      this.#countCalls(env, name, (address) => !OWN_NAMES.includes(textAt(heap(), address)));
    }
    return { ...imports, env };
  }

  #countCalls(env: WebAssembly.ModuleImports, name: string, isAttempt: (first?: number) => boolean): void {
    const call = env[name] as Call | undefined;
    if (!call) return;
    env[name] = (...args: number[]) => {
      if (isAttempt(args[0])) this.#counts.network++;
      return call(...args);
    };
  }

  #isOutside(path: string): boolean {
    const absolute = path.replace(UPWARDS, "/");
    return SYSTEM_FOLDERS.test(absolute) && !DESCRIPTIONS.includes(absolute) &&
      !this.#ownFolders.some((folder) => absolute === folder || absolute.startsWith(`${folder}/`));
  }
}

/** Returns the text of at most 4 KiB at an address, up to its first byte 0. */
export function textAt(heap: Uint8Array, address = 0): string {
  const bytes = heap.subarray(address >>> 0, (address >>> 0) + MAX_PATH_BYTES);
  return decoder.decode(bytes.slice(0, Math.max(0, bytes.indexOf(0))));
}
