import type { ExecOptions, ExecResult, PythonSession } from "../../sandbox/exec.ts";
import { moduleCall } from "../../sandbox/isolated/callee.ts";
import { CompiledModules } from "../../sandbox/isolated/compiled_modules.ts";
import reruns from "./python/reruns.py" with { type: "text" };
import syntax from "./python/syntax.py" with { type: "text" };

const MODULE = "paddock_reruns";
const PREPARE_MS = 10_000;
/** Heap of an interpreter up to which it is used again, in bytes. A heap never shrinks. */
const MAX_HEAP_BYTES = 96 * 1024 * 1024;

/** The modules that run programs. A grader compiles them once. */
export class RerunModules extends CompiledModules {
  constructor() {
    super({ paddock_syntax: syntax, [MODULE]: reruns });
  }
}

/** A program that runs many times in one interpreter, as none of its runs can leave anything for a later one. */
export class Reruns {
  readonly #session: PythonSession;
  #isUsable: boolean;

  private constructor(session: PythonSession, isUsable: boolean) {
    this.#session = session;
    this.#isUsable = isUsable;
  }

  /**
   * Examines a program in a session in which no program has run. If it does not qualify, the session is rewound, and each
   * run needs a clean interpreter.
   */
  static async prepare(
    session: PythonSession,
    { program, modules, signal }: {
      program: string;
      modules: RerunModules;
      signal?: AbortSignal | undefined;
    },
  ): Promise<Reruns> {
    const options = { timeoutMs: PREPARE_MS, signal };
    await CompiledModules.compileIn(session, [modules], options);
    const code = `${modules.definitions}\n${moduleCall(MODULE, "prepare", [program])}`;
    const result = await session.exec(code, options);
    const run = new Reruns(session, result.status === "ok" && result.valueJson === true);
    if (!run.#isUsable) await session.reset({ mode: "rewind", signal });
    return run;
  }

  /** True while the program may run in this interpreter. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  /**
   * Runs the program. After a run that did not end by itself, or that took much memory, the session is rewound, and the
   * program cannot run here again.
   */
  async run(options: Pick<ExecOptions, "stdin" | "timeoutMs" | "signal">): Promise<ExecResult> {
    const result = await this.#session.exec(moduleCall(MODULE, "run", []), options);
    if (!hasLeftNothing(result)) {
      this.#isUsable = false;
      await this.#session.reset({ mode: "rewind", signal: options.signal });
    }
    return result;
  }
}

function hasLeftNothing({ status, stateKept, truncated, peakMemoryBytes = Infinity }: ExecResult): boolean {
  const hasEnded = status === "ok" || status === "error" || status === "exited";
  return hasEnded && stateKept && !truncated && peakMemoryBytes <= MAX_HEAP_BYTES;
}
