import type { ExecOptions } from "../contract/exec.ts";
import type { PythonSession } from "../contract/pool.ts";
import type { Preload } from "../profile/profile.ts";
import { moduleDefinitions, pythonString, SHARED_MODULES } from "./callee.ts";

/** Code of a session: the version of its Python, and compressed code of all modules, in their order. */
interface Compiled {
  readonly version: string;
  readonly base64: string;
}

/**
 * Returns modules as part of a base image. Sessions of a profile with this `preload` need no definitions: to run those
 * takes most of the time of a short session, even when they are compiled.
 */
export function preloadOf(sources: Readonly<Record<string, string>>): Preload {
  const module = Object.keys(sources).at(-1) ?? "paddock_callee";
  return { module, source: moduleDefinitions(sources), ignoresMounts: true };
}

/**
 * Python modules that are defined in many sessions of a pool, one after another. To compile them takes most of the time
 * of a short session, so that they are compiled once. If the image of the sessions has them, they are not defined again.
 */
export class CompiledModules {
  readonly #sources: Readonly<Record<string, string>>;
  #compiled: Compiled | undefined;
  #isPreloaded: boolean | undefined;

  /** `sources` are by name, in dependency order. All of them may import the modules of `callee.ts`. */
  constructor(sources: Readonly<Record<string, string>>) {
    this.#sources = sources;
  }

  /** Looks in a session of the pool, in which no program has run, whether its image has the modules. */
  async detectIn(session: PythonSession, options: Pick<ExecOptions, "signal" | "timeoutMs">): Promise<void> {
    if (this.#isPreloaded !== undefined) return;
    const names = JSON.stringify(Object.keys(this.#sources));
    const result = await session.exec(`all(map(__import__("sys").modules.__contains__, ${names}))`, options);
    if (result.status === "ok") this.#isPreloaded = result.value === "True";
  }

  /**
   * Compiles modules in a session, unless that has been done or the image has them. Other sessions run the result, so that
   * no untrusted program may have run in this one. If it fails, each session compiles the modules itself.
   */
  static async compileIn(
    session: PythonSession,
    modules: readonly CompiledModules[],
    options: Pick<ExecOptions, "signal" | "timeoutMs">,
  ): Promise<void> {
    const missing = modules.filter((each) => !each.#isPreloaded && each.#compiled === undefined);
    if (missing.length === 0) return;
    const packed = missing.map((each) => each.#packed).join(", ");
    const code = `import base64, marshal, sys, zlib\n[sys.version, ${packed}]`;
    const result = await session.exec(code, options);
    const value = result.status === "ok" ? result.valueJson : undefined;
    const [version, ...texts] = Array.isArray(value) ? value : [];
    for (const [index, each] of missing.entries()) {
      const base64 = texts[index];
      if (typeof version === "string" && typeof base64 === "string") each.#compiled = { version, base64 };
    }
  }

  /** An expression of Python that compiles the modules. */
  get #packed(): string {
    const sources = Object.entries({ ...SHARED_MODULES, ...this.#sources }).map(([name, source]) =>
      `compile(${pythonString(source)}, "<${name}>", "exec")`
    );
    return `base64.b64encode(zlib.compress(marshal.dumps([${sources.join(", ")}]), 1)).decode()`;
  }

  /**
   * Code that defines the modules in a session; empty if its image has them. A session of another version of Python
   * compiles them itself.
   */
  get definitions(): string {
    if (this.#isPreloaded) return "";
    const fromSources = moduleDefinitions(this.#sources);
    if (this.#compiled === undefined) return fromSources;
    const { version, base64 } = this.#compiled;
    const names = Object.keys({ ...SHARED_MODULES, ...this.#sources });
    return `import base64, marshal, sys, types, zlib
if sys.version == ${pythonString(version)}:
    for _name, _code in zip(${
      JSON.stringify(names)
    }, marshal.loads(zlib.decompress(base64.b64decode("${base64}")))):
        _module = sys.modules[_name] = types.ModuleType(_name)
        exec(_code, _module.__dict__)
    del _code, _module, _name, base64, marshal, sys, types, zlib
else:
    exec(${pythonString(fromSources)})`;
  }
}
