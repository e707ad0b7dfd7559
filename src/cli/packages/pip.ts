import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as z from "zod";
import { errorMessage } from "../../errors.ts";
import { PLATFORM } from "../../sandbox/image/native_libraries.ts";
import { readLines } from "../../read_lines.ts";
import { distributionLinks, targetEnvironment } from "./distribution.ts";
import script from "./pip_resolver.py" with { type: "text" };
import {
  type DownloadOptions,
  type DownloadProgress,
  MAX_SOURCE_BYTES,
  type PackageResolver,
  ResolutionError,
  resolutionFailureSchema,
  type ResolvedPackage,
  resolvedPackagesSchema,
  type ResolveOptions,
  type SourceLink,
  type WantedFile,
} from "./resolution.ts";

/** Commands that run Python with pip, in the order in which they are tried. */
const PYTHONS: readonly (readonly string[])[] = [
  ["python3"],
  ["python"],
  ["uv", "run", "--quiet", "--no-project", "--with", "pip", "python"],
];

const lineSchema = z.union([
  z.object({ progress: z.object({ done: z.number(), total: z.number().nullable() }) }),
  z.object({ packages: resolvedPackagesSchema }),
  z.object({ downloaded: z.literal(true) }),
  z.object({ source: z.boolean() }),
  z.object({ failure: resolutionFailureSchema }),
]);

/** Maximum size of a line of the script: a resolution of thousands of packages. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Resolves and downloads by the pip of the host, with the configuration of the user. */
export class PipResolver implements PackageResolver {
  readonly #python: readonly string[];
  readonly #index: string | undefined;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(
    python: readonly string[],
    { index, env = {} }: { index?: string | undefined; env?: Readonly<Record<string, string>> | undefined },
  ) {
    this.#python = python;
    this.#index = index;
    this.#env = env;
  }

  /**
   * Returns a resolver, or `undefined` if the host has neither Python with pip nor uv.
   *
   * @param options.index Address of a package index in place of the configured index.
   * @param options.env Variables that pip has beside the variables of this process.
   */
  static async find(
    options: { index?: string | undefined; env?: Readonly<Record<string, string>> },
  ): Promise<PipResolver | undefined> {
    for (const python of PYTHONS) {
      if (await hasPip(python)) return new PipResolver(python, options);
    }
    return undefined;
  }

  async resolve(options: ResolveOptions): Promise<readonly ResolvedPackage[]> {
    const { requirements, constraints, lock, stored, pyodideUrl, signal } = options;
    return await withFolder(async (folder) => {
      const links = join(folder, "links.html");
      if (pyodideUrl !== undefined) await Deno.writeTextFile(links, distributionLinks(lock, pyodideUrl));
      const wheels = join(folder, "stored"); // pip reads a wheel's name and version from the name of the file
      await Deno.mkdir(wheels);
      for (const { file, path } of stored) await Deno.symlink(path, join(wheels, file));
      const request = {
        ...this.#request("resolve", folder),
        environment: targetEnvironment(lock),
        requirements,
        constraints,
        findLinks: [wheels, ...(pyodideUrl === undefined ? [] : [pathToFileURL(links).href])],
      };
      for await (const line of this.#run(request, folder, signal)) {
        if ("packages" in line) return line.packages;
        if ("failure" in line) throw new ResolutionError(line.failure, lock);
      }
      throw new ResolutionError({ kind: "other", message: "pip ended without a result" });
    });
  }

  async download(
    files: readonly WantedFile[],
    options: DownloadOptions,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    if (files.length === 0) return new Map();
    return await withFolder(async (folder) => {
      const request = {
        ...this.#request("download", folder),
        files: files.map(({ name, version, sha256 }) => [name, version, sha256]),
      };
      for await (const line of this.#run(request, folder, options.signal)) {
        if ("progress" in line) options.onProgress(toProgress(line.progress));
        if ("failure" in line) throw new ResolutionError(line.failure);
      }
      const read = async ({ file }: WantedFile) => [file, await Deno.readFile(join(folder, file))] as const;
      return new Map(await Promise.all(files.map(read)));
    });
  }

  async fetchSource(
    { url, sha256 }: SourceLink,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<Uint8Array | undefined> {
    return await withFolder(async (folder) => {
      const target = join(folder, "source");
      const request = {
        ...this.#request("source", folder),
        source: { url, sha256, target, maxBytes: MAX_SOURCE_BYTES },
      };
      for await (const line of this.#run(request, folder, signal)) {
        if ("failure" in line) throw new ResolutionError(line.failure);
        if ("source" in line && line.source) return await Deno.readFile(target);
      }
      return undefined;
    });
  }

  #request(command: string, folder: string): object {
    return { command, folder, platform: PLATFORM, python: "3.14", index: this.#index };
  }

  /** Runs the script in an empty folder: Python imports modules from the current folder. */
  async *#run(
    request: object,
    folder: string,
    signal: AbortSignal,
  ): AsyncGenerator<z.infer<typeof lineSchema>> {
    const [program = "", ...args] = this.#python;
    const child = new Deno.Command(program, {
      args: [...args, "-c", script],
      cwd: folder,
      env: { ...this.#env, PIP_REQUIRE_VIRTUALENV: "0", PIP_USER: "0", PYTHONUTF8: "1" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      signal,
    }).spawn();
    const errors = new Response(child.stderr).text();
    const input = new Blob([JSON.stringify(request)]).stream().pipeTo(child.stdin);
    await input.catch(() => {}); // the script has ended, and stderr has the reason
    try {
      for await (const line of readLines(child.stdout, { maxBytes: MAX_LINE_BYTES })) {
        if ("fault" in line) {
          throw new ResolutionError({ kind: "other", message: `${program}: ${line.fault}` });
        }
        yield lineSchema.parse(JSON.parse(line.text));
      }
    } finally {
      await child.status; // pip may still use the folder, which the caller removes
    }
    const { success } = await child.status;
    signal.throwIfAborted();
    const reason = (await errors).trim().split("\n").at(-1) ?? "";
    if (!success) throw new ResolutionError({ kind: "other", message: `${program} failed: ${reason}` });
  }
}

function toProgress({ done, total }: { done: number; total: number | null }): DownloadProgress {
  return { done, total: total ?? undefined };
}

async function hasPip([program = "", ...args]: readonly string[]): Promise<boolean> {
  try {
    return await withFolder(async (cwd) =>
      (await new Deno.Command(program, { args: [...args, "-m", "pip", "--version"], cwd }).output()).success
    );
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) return false;
    throw new Error(`Cannot start ${program}: ${errorMessage(error)}`, { cause: error });
  }
}

async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "paddock-packages-" });
  try {
    return await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
