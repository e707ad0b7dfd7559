/**
 * Graders as a module for `deno serve`: `deno serve --allow-net src/server/edge.ts`. For a token or custom graders,
 * serve a file of two lines instead:
 *
 * ```ts
 * import { edgeApp } from "@paddock/paddock/edge";
 * export default edgeApp({ token: "at least sixteen characters" });
 * ```
 *
 * @module
 */
import { requireKnownOptions } from "../options.ts";
import type { Grader } from "../rewards/grader.ts";
import { GRADERS, makeGrader } from "../rewards/registry.ts";
import { GraderPool } from "../rewards/worker/grader_pool.ts";
import type { WorkerSandbox } from "../sandbox/in_worker/worker_sandbox.ts";
import { createEdgeApp, type EdgeApp, type EdgeAppOptions } from "./edge/app.ts";
import { type GradingRuntime, MAX_SANDBOXED_GRADES } from "./edge/grading.ts";

export type { EdgeApp, EdgeAppOptions };

/** Options of {@linkcode edgeApp}. Code sets them, since the edge server cannot read the environment. */
export interface EdgeOptions extends EdgeAppOptions {
  /**
   * Time limit of a program under test, in milliseconds.
   *
   * @default 10_000
   */
  timeoutMs?: number | undefined;
  /**
   * Called before the image of Python is built, at the first grade that runs Python.
   *
   * @default a line on stderr
   */
  onBuild?: (() => void) | undefined;
  /**
   * Absolute path of a directory in which the image of Python is kept, so that only the first process builds it. It needs
   * the permissions to read and to write there, and no other user may write to it.
   *
   * @default none
   */
  cacheDir?: string | undefined;
}

/**
 * Creates a server that scores conversations with no permission except to listen: it uses no file, process,
 * environment or native library. Graders and Python run in workers of its own process, which isolate less than a
 * process does: see docs/edge.md.
 *
 * @throws {RangeError} if the token is shorter than 16 characters.
 */
export function edgeApp(options: EdgeOptions = {}): EdgeApp {
  requireKnownOptions("call edgeApp", options, {
    timeoutMs: true,
    onBuild: true,
    cacheDir: true,
    token: true,
    graders: true,
    onError: true,
  });
  const { timeoutMs = 10_000, onBuild = announceBuild, cacheDir, ...others } = options;
  return createEdgeApp(others, new WorkerRuntime({ timeoutMs, onBuild, cacheDir }));
}

function announceBuild(): void {
  // deno-lint-ignore no-console -- an edge module has no other log
  console.error("paddock: building the image of Python for the first grade of a program (some seconds) …");
}

/** Runs graders in workers of Deno. The Python runtime and its image are loaded at the first use. */
class WorkerRuntime implements GradingRuntime {
  readonly sandboxed: readonly string[] = Object.keys(GRADERS).filter((name) =>
    GRADERS[name]?.needs === "pools"
  );
  readonly #workers = new GraderPool();
  readonly #options: Pick<EdgeOptions, "timeoutMs" | "onBuild" | "cacheDir">;
  #pool: Promise<WorkerSandbox> | undefined;

  constructor(options: Pick<EdgeOptions, "timeoutMs" | "onBuild" | "cacheDir">) {
    this.#options = options;
  }

  guard(grader: Grader): Grader {
    return this.#workers.guardParts(grader);
  }

  async makeSandboxed(name: string): Promise<Grader> {
    const entry = GRADERS[name];
    if (entry === undefined) {
      throw new TypeError(`Cannot make grader '${name}' as the registry does not contain it`);
    }
    const { timeoutMs, ...options } = this.#options;
    this.#pool ??= import("./edge/worker_pool.ts").then(({ createWorkerPool }) =>
      createWorkerPool(MAX_SANDBOXED_GRADES, options)
    );
    const pool = await this.#pool;
    const resources = { pool: () => pool, testPool: () => pool, timeoutMs };
    return await makeGrader(entry, resources);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workers[Symbol.asyncDispose]();
    const pool = await this.#pool?.catch(() => undefined); // the grade that asked for the pool reported why it failed
    await pool?.[Symbol.asyncDispose]();
  }
}

/** The server without a token, for `deno serve` and other runtimes that take a default export. */
const app: EdgeApp = edgeApp();
export default app;
