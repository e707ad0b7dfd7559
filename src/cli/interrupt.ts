const SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT"]
  : ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * A signal that Ctrl-C aborts, and so does being told to end (SIGTERM) or losing one's terminal (SIGHUP), until
 * disposed. What comes a second time ends the program as if this were not there. Below `nohup` a terminal that goes
 * away is not minded.
 */
export class Interrupt implements Disposable {
  readonly #abort = new AbortController();
  readonly #listeners: ReadonlyMap<Deno.Signal, () => void>;

  constructor() {
    const end = () => {
      this[Symbol.dispose]();
      this.#abort.abort(new DOMException("Interrupted by Ctrl-C", "AbortError"));
    };
    const ignored = isHangupIgnored();
    // Deno ends at a hangup that it was started to ignore, unless somebody listens.
    this.#listeners = new Map(SIGNALS.map((name) => [name, name === "SIGHUP" && ignored ? () => {} : end]));
    for (const [name, listener] of this.#listeners) Deno.addSignalListener(name, listener);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  [Symbol.dispose](): void {
    for (const [name, listener] of this.#listeners) Deno.removeSignalListener(name, listener);
  }
}

/** Whether this process was started with SIGHUP ignored, where the system says so. */
export function isHangupIgnored(): boolean {
  const [, lowest = "0"] = /^SigIgn:\s*[0-9a-f]*([0-9a-f])$/m.exec(ownStatus()) ?? [];
  return (Number.parseInt(lowest, 16) & 1) === 1;
}

function ownStatus(): string {
  try {
    return Deno.readTextFileSync("/proc/self/status");
  } catch {
    return ""; // only Linux has it
  }
}
