/** Kinds of attempts that are counted, as a profile's user would name what was refused. */
export interface DeniedCounts {
  files: number;
  network: number;
}

const OPEN = "__syscall_openat";
const NETWORK_CALLS = ["__syscall_socket", "getaddrinfo", "_emscripten_lookup_name"];
/** Folders of a Linux host with data of the system or of other users, which no session has. */
const OUTSIDE =
  /^(?:\/|(?:\.\.\/)+)(?:etc|proc|sys|root|var|boot|srv|opt|run|home\/(?!pyodide(?:\/|$)))(?:\/|$)/;
const MAX_PATH_BYTES = 4096;
const decoder = new TextDecoder();

type Call = (...args: number[]) => number;

/**
 * Counts attempts that the sandbox refuses: files of the system that a program tries to open, and its network calls.
 * The guest counts, so that the numbers are advice. A refusal does not depend on them.
 */
export class Denials {
  #counts: DeniedCounts = { files: 0, network: 0 };

  /** Begins an exec. */
  reset(): void {
    this.#counts = { files: 0, network: 0 };
  }

  /** Returns the counts above 0 as JSON; `undefined` if all are 0. */
  toJson(): string | undefined {
    const counted = Object.entries(this.#counts).filter(([, count]) => count > 0);
    return counted.length === 0 ? undefined : JSON.stringify(Object.fromEntries(counted));
  }

  /** Returns the imports with a count of those calls that fail. `heap` returns Python's memory. */
  wrapImports(imports: WebAssembly.Imports, heap: () => Uint8Array): WebAssembly.Imports {
    const env = { ...imports.env };
    const open = env[OPEN] as Call;
    env[OPEN] = (...args: number[]) => {
      const result = open(...args);
      if (result < 0 && OUTSIDE.test(textAt(heap(), args[1] ?? 0))) this.#counts.files++;
      return result;
    };
    for (const name of NETWORK_CALLS) {
      const call = env[name] as Call | undefined;
      if (!call) continue;
      env[name] = (...args: number[]) => {
        this.#counts.network++;
        return call(...args);
      };
    }
    return { ...imports, env };
  }
}

function textAt(heap: Uint8Array, address: number): string {
  const bytes = heap.subarray(address >>> 0, (address >>> 0) + MAX_PATH_BYTES);
  return decoder.decode(bytes.slice(0, Math.max(0, bytes.indexOf(0))));
}
