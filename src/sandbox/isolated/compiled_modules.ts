import type { ExecOptions, PythonSession } from "../exec.ts";
import { moduleDefinitions, pythonString, SHARED_MODULES } from "./callee.ts";

/** Code of a session: the version of its Python, and compressed code of all modules, in their order. */
interface Compiled {
  readonly version: string;
  readonly base64: string;
}

/**
 * Python modules that are defined in many sessions, one after another. To compile them takes most of the time of a short
 * session, so that they are compiled once.
 */
export class CompiledModules {
  readonly #sources: Readonly<Record<string, string>>;
  #compiled: Compiled | undefined;

  /** `sources` are by name, in dependency order. All of them may import the modules of `callee.ts`. */
  constructor(sources: Readonly<Record<string, string>>) {
    this.#sources = sources;
  }

  /**
   * Compiles modules in a session, unless that has been done. Other sessions run the result, so that no untrusted
   * program may have run in this one. If it fails, each session compiles the modules itself.
   */
  static async compileIn(
    session: PythonSession,
    modules: readonly CompiledModules[],
    options: Pick<ExecOptions, "signal" | "timeoutMs">,
  ): Promise<void> {
    const missing = modules.filter((each) => each.#compiled === undefined);
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

  /** Code that defines the modules in a session. A session of another version of Python compiles them itself. */
  get definitions(): string {
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
