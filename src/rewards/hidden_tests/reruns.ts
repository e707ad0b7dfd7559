import type { ExecOptions, ExecResult } from "../../sandbox/contract/exec.ts";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import { moduleCall } from "../../sandbox/isolated/callee.ts";
import { CompiledModules } from "../../sandbox/isolated/compiled_modules.ts";
import reruns from "./python/reruns.py" with { type: "text" };
import syntax from "./python/syntax.py" with { type: "text" };
import allowedModules from "./rerun_modules.json" with { type: "json" };

const MODULE = "paddock_reruns";
const PREPARE_MS = 10_000;
/** Modules that a program may import, and their names that the program may use; `null` for all public names. */
const MODULES: ReadonlyMap<string, readonly string[] | null> = new Map(Object.entries(allowedModules));
/** A line that imports, in code or within a text. */
const IMPORT =
  /^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\w+(?:[ \t]*,[ \t]*\w+)*)|import[ \t]+([\w.]+))/gm;
/** Heap up to which an interpreter is used again, in bytes. A heap never shrinks. */
const MAX_HEAP_BYTES = 96 * 1024 * 1024;

/** Modules that run a program many times, in dependency order. */
export const RERUN_SOURCES: Readonly<Record<string, string>> = { paddock_syntax: syntax, [MODULE]: reruns };

/** The modules that run programs. A grader compiles them once. */
export class RerunModules extends CompiledModules {
  constructor() {
    super(RERUN_SOURCES);
  }
}

/** A program that runs many times in one interpreter, as no run can leave anything for a later run. */
export class Reruns {
  readonly #session: PythonSession;
  readonly #usesThreads: boolean;
  #isUsable: boolean;

  private constructor(
    session: PythonSession,
    { isUsable, usesThreads = false }: { isUsable: boolean; usesThreads?: boolean },
  ) {
    this.#session = session;
    this.#usesThreads = usesThreads;
    this.#isUsable = isUsable;
  }

  /**
   * Examines a program in a session in which no program has run. If the program does not qualify, the session is rewound,
   * and each run needs a clean interpreter. The session does not see a program that is excluded by imports alone.
   */
  static async prepare(
    session: PythonSession,
    { program, modules, signal }: {
      program: string;
      modules: RerunModules;
      signal?: AbortSignal | undefined;
    },
  ): Promise<Reruns> {
    if (!importsAllowed(program)) return new Reruns(session, { isUsable: false });
    const options = { timeoutMs: PREPARE_MS, signal };
    await modules.detectIn(session, options);
    await CompiledModules.compileIn(session, [modules], options);
    const code = `${modules.definitions}\n${
      moduleCall(MODULE, "prepare", [program, JSON.stringify(allowedModules)])
    }`;
    const result = await session.exec(code, options);
    const found = result.status === "ok" ? result.valueJson : false;
    const usesThreads = found === "threads";
    const run = new Reruns(session, { isUsable: found === true || usesThreads, usesThreads });
    if (!run.#isUsable) await session.reset({ mode: "rewind", signal });
    return run;
  }

  /** True while the program may run in this interpreter. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  /**
   * Runs the program. After a run that did not end by itself, that took much memory or may have left threads, the session
   * is rewound, and the program cannot run here again.
   */
  async run(options: Pick<ExecOptions, "stdin" | "timeoutMs" | "signal">): Promise<ExecResult> {
    const result = await this.#session.exec(moduleCall(MODULE, "run", []), options);
    if (!hasLeftNothing(result) || (this.#usesThreads && result.status === "error")) {
      this.#isUsable = false;
      await this.#session.reset({ mode: "rewind", signal: options.signal });
    }
    return result;
  }
}

/** False if the imports exclude the program. A text that looks like an import costs time, but changes no result. */
function importsAllowed(program: string): boolean {
  return program.matchAll(IMPORT).every(([, from, names = "", name = from ?? ""]) => {
    const allowed = MODULES.get(name);
    if (allowed === undefined) return false;
    return allowed === null || names === "" ||
      names.split(",").every((each) => allowed.includes(each.trim()));
  });
}

function hasLeftNothing({ status, stateKept, truncated, peakMemoryBytes = Infinity }: ExecResult): boolean {
  const hasEnded = status === "ok" || status === "error" || status === "exited";
  return hasEnded && stateKept && !truncated && peakMemoryBytes <= MAX_HEAP_BYTES;
}
