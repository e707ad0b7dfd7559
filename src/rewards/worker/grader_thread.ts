import { stripTypeScriptTypes } from "node:module";
import { Worker } from "node:worker_threads";
import { SandboxError } from "../../errors.ts";
import { linkModules } from "../../sandbox/guest/module_urls.ts";
import { GRADER_FILES } from "./grader_files.ts";
import type { Batch, ItemResult, WorkerMessage, WorkerSetup, WorkItem } from "./grader_worker.ts";

/** Options of {@linkcode GraderThread}. */
export interface GraderThreadOptions {
  /** Maximum size of the worker's heap, in MiB. */
  readonly heapMb: number;
  /**
   * Milliseconds that a worker may be late before the replacement. A worker ends grades itself; only a call that V8
   * cannot interrupt, or a fault, makes a worker late.
   */
  readonly graceMs: number;
}

/** Results of a batch, in order. An item without a result did not run, and may run again. */
export type BatchResults = readonly (ItemResult | undefined)[];

interface Running {
  readonly batch: Batch;
  readonly worker: Worker;
  readonly resolve: (results: BatchResults) => void;
  readonly reject: (error: unknown) => void;
}

const NOT_BEGUN = -1;
/** Milliseconds until a worker must have begun with a batch. The worker loads modules first. */
const START_MS = 30_000;
/** New objects may fill this much of the heap, in MiB, before they count as old. */
const YOUNG_MB = 8;
/** Packages that graders import. The worker has no import map where Paddock is a dependency. */
const PACKAGES: Readonly<Record<string, string>> = {
  "@std/regexp": "npm:deno-std@1.4.0/regexp/escape.js",
  "zod": "npm:zod@4.6.7",
  "eld/extrasmall": "npm:eld@2.1.0/extrasmall",
};

/** A worker that runs graders. The worker starts at the first batch, and again after a batch that ended the worker. */
export class GraderThread {
  readonly #options: GraderThreadOptions;
  readonly #progress = new Int32Array(new SharedArrayBuffer(4));
  readonly #urls = new Map<string, string>();
  #worker: Worker | undefined;
  #isReady = false;
  #running: Running | undefined;

  constructor(options: GraderThreadOptions) {
    this.#options = options;
  }

  /**
   * Grades items in order, one batch at a time. The results cover at least one item, and maybe not all: the worker
   * stops after half of the time limit, and at an item that is stopped.
   *
   * @throws {SandboxError} if the worker cannot start or fails.
   */
  async run(items: readonly WorkItem[], limitMs: number): Promise<BatchResults> {
    const worker = this.#worker ??= this.#start();
    const { promise, resolve, reject } = Promise.withResolvers<BatchResults>();
    this.#running = { batch: { items, limitMs }, worker, resolve, reject };
    Atomics.store(this.#progress, 0, NOT_BEGUN);
    const lateMs = limitMs + this.#options.graceMs;
    let timer = setTimeout(() => {
      if (Atomics.load(this.#progress, 0) !== NOT_BEGUN) return this.#fail(worker, "deadline");
      timer = setTimeout(() => this.#fail(worker, "deadline"), START_MS);
    }, lateMs);
    try {
      if (this.#isReady) worker.postMessage(this.#running.batch);
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#running = undefined;
    }
  }

  /** Ends the worker. A batch that is running rejects. */
  async end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    for (const url of this.#urls.values()) URL.revokeObjectURL(url);
    this.#urls.clear();
    this.#running?.reject(new SandboxError("Cannot grade as the grader pool is disposed"));
    await worker?.terminate();
  }

  #start(): Worker {
    if (this.#urls.size === 0) linkModules(this.#urls, graderModules());
    const setup: WorkerSetup = { urls: this.#urls, progress: this.#progress };
    const worker = new Worker(`import(${JSON.stringify(this.#urls.get("grader_worker.ts"))})`, {
      eval: true,
      workerData: setup,
      resourceLimits: { maxOldGenerationSizeMb: this.#options.heapMb, maxYoungGenerationSizeMb: YOUNG_MB },
    });
    this.#isReady = false;
    worker.on("message", (message: WorkerMessage) => {
      if (this.#worker !== worker) return;
      if (message !== "ready") return this.#running?.resolve(message);
      this.#isReady = true;
      worker.postMessage(this.#running?.batch);
    });
    worker.on("error", (error) => {
      const isOutOfMemory = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
      this.#fail(worker, isOutOfMemory ? "memory" : error);
    });
    worker.unref(); // the timer of a batch keeps the process alive, an idle worker does not
    return worker;
  }

  /** Gives up a worker. The item in progress is stopped; other items of the batch are not. */
  #fail(worker: Worker, why: "deadline" | "memory" | Error): void {
    if (this.#worker === worker) this.#worker = undefined;
    void worker.terminate();
    const running = this.#running;
    if (running?.worker !== worker) return;
    const at = Atomics.load(this.#progress, 0);
    if (why instanceof Error || at === NOT_BEGUN) {
      const cause = why instanceof Error ? why : new Error(`it did not begin: ${why}`);
      running.reject(new SandboxError("Cannot grade as the grader worker failed", { cause }));
    } else {
      running.resolve(
        running.batch.items.map((_, i) => i === at ? { stopped: why } : undefined),
      );
    }
  }
}

/** Returns the worker's modules as JavaScript, each after the modules that it imports. */
function graderModules(): { name: string; source: string }[] {
  return Object.entries(GRADER_FILES).map(([name, source]) => ({
    name: `${name}.ts`,
    source: stripTypeScriptTypes(source).replace(
      /\b(from |import\()"([@\w/]+)"/g,
      (text, before: string, name: string) => name in PACKAGES ? `${before}"${PACKAGES[name]}"` : text,
    ),
  }));
}
