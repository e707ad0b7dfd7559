import { isAlive, processTree } from "../processes.ts";

const SAMPLE_MS = 100;
const KIB = 1024;

/** Resident memory of a process and of its descendants, in bytes. */
export interface ProcessMemory {
  readonly host: number;
  readonly tree: number;
}

/** Options of {@linkcode MemoryWatch}. */
export interface MemoryWatchOptions {
  /** Bytes of all processes together above which the process is killed. */
  readonly killBytes: number;
}

/**
 * Samples the memory of a process and its descendants, and kills the process when they exceed a limit, so that a
 * fault does not harm the machine. Linux only: it reads `/proc`.
 */
export class MemoryWatch implements Disposable {
  readonly #pid: number;
  readonly #killBytes: number;
  readonly #timer: ReturnType<typeof setInterval>;
  #peak: ProcessMemory = { host: 0, tree: 0 };
  #isSampling = false;
  #wasKilled = false;

  constructor(pid: number, { killBytes }: MemoryWatchOptions) {
    this.#pid = pid;
    this.#killBytes = killBytes;
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  /** True if the process was killed since it exceeded the limit. */
  get wasKilled(): boolean {
    return this.#wasKilled;
  }

  /** Maximum since the start or the last call of {@linkcode restart}. */
  get peak(): ProcessMemory {
    return this.#peak;
  }

  /** Returns the present memory and forgets the maximum. */
  async restart(): Promise<ProcessMemory> {
    await Deno.writeTextFile(`/proc/${this.#pid}/clear_refs`, "5").catch(() => {}); // resets VmHWM, where it is allowed
    const now = await this.now();
    this.#peak = now;
    return now;
  }

  /** Returns the present memory. */
  async now(): Promise<ProcessMemory> {
    const [host = 0, ...others] = await Promise.all(
      (await processTree(this.#pid)).map((pid) => memoryOf(pid, "VmRSS")),
    );
    return { host, tree: others.reduce((sum, bytes) => sum + bytes, host) };
  }

  /** Returns the number of open files of the process. */
  async openFiles(): Promise<number> {
    return (await Array.fromAsync(Deno.readDir(`/proc/${this.#pid}/fd`))).length;
  }

  /** Stops sampling. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #sample(): Promise<void> {
    if (this.#isSampling) return; // the last sample is late
    this.#isSampling = true;
    const now = await this.now();
    const highest = await memoryOf(this.#pid, "VmHWM");
    this.#isSampling = false;
    this.#peak = {
      host: Math.max(this.#peak.host, now.host, highest),
      tree: Math.max(this.#peak.tree, now.tree),
    };
    if (now.tree <= this.#killBytes || this.#wasKilled || !await isAlive(this.#pid)) return;
    this.#wasKilled = true;
    Deno.kill(this.#pid, "SIGKILL");
  }
}

async function memoryOf(pid: number, field: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => ""); // the process has ended
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0) * KIB;
}
