import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import * as z from "zod";
import { sha256 } from "../../hash.ts";
import { type HostTool, hostTool } from "../../sandbox/host_tool.ts";
import { expandFirst } from "../../sandbox/image/archive.ts";
import { isIntact, storeFile } from "../../sandbox/image/package_store.ts";
import type { DistributionLock } from "../../sandbox/image/pyodide.ts";
import type { PackageFile } from "../../sandbox/profile/packages.ts";
import { parseProfile } from "../../sandbox/profile/profile.ts";
import { Sandbox } from "../../sandbox/sandbox.ts";
import { UsageError } from "../cli_errors.ts";
import { fetchFile, fetchPage } from "./distribution.ts";
import script from "./resolver.py" with { type: "text" };
import {
  type DownloadOptions,
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

/** Libraries that choose the packages, without dependencies. Their hashes are fixed here, whatever the index is. */
const LIBRARIES: readonly PackageFile[] = [
  library("packaging", "26.3", "d7193f7c8e4e93f444fde0262bf90af30e16fa0ad0ad44cb553c87339b23cd1c"),
  library("resolvelib", "1.2.1", "fb06b66c8da04172d9e72a21d7d06186d8919e32ae5ab5cdf5b9d920be805ac2"),
];

function library(name: string, version: string, digest: string): PackageFile {
  const file = `${name}-${version}-py3-none-any.whl`;
  return {
    name,
    kind: "stored",
    path: file,
    sha256: digest,
    stored: { version, source: "index", neededBy: [] },
  };
}

/** The sandbox of the resolver. Metadata of packages is hostile, and may ask for endless work. */
const PROFILE = JSON.stringify({
  preimports: [
    "email",
    "html.parser",
    "packaging.requirements",
    "packaging.tags",
    "packaging.utils",
    "resolvelib",
  ],
  hostTools: true,
  limits: { timeoutMs: 300_000, cpuSeconds: 300, hostToolCalls: 100_000, outputBytes: 16 * 1024 * 1024 },
});

/** Maximum size of a wheel's metadata. Large packages have some 100 kB of metadata. */
const MAX_METADATA_BYTES = 16 * 1024 * 1024;

const resultSchema = z.union([
  z.object({ packages: resolvedPackagesSchema }),
  z.object({ failure: resolutionFailureSchema }),
]);

/** A wheel that is known without the index. */
interface Link {
  readonly file: string;
  readonly url: string;
  readonly sha256: string;
}

/** Options of {@linkcode SandboxResolver}. */
export interface SandboxResolverOptions {
  /** Address of a package index in the form of PEP 503, with a slash at the end. */
  readonly index: string;
  readonly cacheDir: string;
}

/** A page of a package index. */
interface IndexPage {
  readonly html: string;
  readonly url: string;
}

/** Maximum number of pages that are read at the same time. */
const MAX_PREFETCHED = 16;

/** Reads pages of an index, several at a time if they are announced. */
class PagePrefetcher implements AsyncDisposable {
  readonly #fetch: (project: string, signal: AbortSignal) => Promise<IndexPage>;
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;
  readonly #pending = new Map<string, Promise<IndexPage>>();

  constructor(fetch: (project: string, signal: AbortSignal) => Promise<IndexPage>, signal: AbortSignal) {
    this.#fetch = fetch;
    this.#signal = AbortSignal.any([signal, this.#ended.signal]);
  }

  prefetch(projects: readonly string[]): void {
    for (const project of projects.filter((name) => !this.#pending.has(name))) {
      if (this.#pending.size >= MAX_PREFETCHED) return;
      const page = this.#fetch(project, this.#signal);
      page.catch(() => {}); // read() throws the error
      this.#pending.set(project, page);
    }
  }

  read(project: string): Promise<IndexPage> {
    const page = this.#pending.get(project) ?? this.#fetch(project, this.#signal);
    this.#pending.delete(project);
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await Promise.allSettled(this.#pending.values());
  }
}

/** Resolves by resolvelib in a sandbox, for hosts without pip. The host downloads. */
export class SandboxResolver implements PackageResolver {
  readonly #index: string;
  readonly #cacheDir: string;
  /** Addresses of the chosen files, by their SHA-256. */
  readonly #urls = new Map<string, string>();
  /** Wheels that were downloaded for their metadata, by address. */
  readonly #wheels = new Map<string, Uint8Array>();

  constructor({ index, cacheDir }: SandboxResolverOptions) {
    this.#index = index;
    this.#cacheDir = cacheDir;
  }

  async resolve(options: ResolveOptions): Promise<readonly ResolvedPackage[]> {
    const { signal } = options;
    await this.#fetchLibraries(signal);
    const profile = { ...parseProfile(PROFILE, { source: "resolver" }), packages: LIBRARIES };
    await using sandbox = await Sandbox.start({ profile, cacheDir: this.#cacheDir, signal });
    const session = await sandbox.openSession({ signal });
    const failures: unknown[] = [];
    await using pages = new PagePrefetcher((project, signal) => this.#page(project, signal), signal);
    const tools = this.#tools(options, pages).map((tool): HostTool => ({
      ...tool,
      run: async (args, context) => {
        try {
          return await tool.run(args, context);
        } catch (error) {
          failures.push(error);
          throw error;
        }
      },
    }));
    const result = await session.exec(script, { tools, signal });
    signal.throwIfAborted();
    if (failures.length > 0) throw failures[0];
    if (result.status !== "ok") {
      const reason = "error" in result ? `${result.error.type}: ${result.error.message}` : result.status;
      throw new ResolutionError({ kind: "other", message: `the resolver ended with ${reason}` });
    }
    const answer = resultSchema.parse(JSON.parse(result.stdout));
    if ("failure" in answer) throw new ResolutionError(answer.failure, options.lock);
    for (const { sha256, url } of answer.packages) if (url !== undefined) this.#urls.set(sha256, url);
    return answer.packages;
  }

  async download(
    files: readonly WantedFile[],
    { onProgress, signal }: DownloadOptions,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const contents = new Map<string, Uint8Array>();
    for (const { name, file, sha256: digest } of files) {
      const url = this.#urls.get(digest) ?? await this.#findUrl(name, digest, signal);
      const bytes = this.#wheels.get(url) ?? await fetchFile(url, { onProgress, signal });
      if (await sha256(bytes) !== digest) throw new ResolutionError({ kind: "hash", package: name });
      contents.set(file, bytes);
    }
    return contents;
  }

  async fetchSource(
    { url, sha256: digest }: SourceLink,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<Uint8Array | undefined> {
    if (!/^https?:\/\//.test(url)) return undefined;
    try {
      const bytes = await fetchFile(url, { onProgress: () => {}, signal, maxBytes: MAX_SOURCE_BYTES });
      return await sha256(bytes) === digest ? bytes : undefined;
    } catch (error) {
      if (error instanceof UsageError) return undefined; // the package then has no wheel, which is the error
      throw error;
    }
  }

  async #fetchLibraries(signal: AbortSignal): Promise<void> {
    const missing: PackageFile[] = [];
    for (const file of LIBRARIES) if (!await isIntact(this.#cacheDir, file.sha256)) missing.push(file);
    const files = missing.map(({ name, path, sha256, stored }) => ({
      name,
      sha256,
      file: path,
      version: stored?.version ?? "",
    }));
    const contents = await this.download(files, { onProgress: () => {}, signal });
    for (const { name, file, sha256 } of files) {
      await storeFile(this.#cacheDir, { name, sha256, contents: contents.get(file) ?? new Uint8Array() });
    }
  }

  /** Returns the address of the file with a hash, from the page of the package. */
  async #findUrl(name: string, digest: string, signal: AbortSignal): Promise<string> {
    const { html, url } = await this.#page(name, signal);
    const fragment = `#sha256=${digest}`;
    const end = html.indexOf(fragment);
    const start = Math.max(html.lastIndexOf('"', end), html.lastIndexOf("'", end)) + 1;
    if (end === -1) throw new ResolutionError({ kind: "hash", package: name });
    return new URL(html.slice(start, end).replaceAll("&amp;", "&"), url).href;
  }

  async #page(project: string, signal: AbortSignal): Promise<IndexPage> {
    const url = new URL(`${encodeURIComponent(project)}/`, this.#index).href;
    return await fetchPage(url, signal);
  }

  #tools(
    { requirements, constraints, stored, lock, pyodideUrl, signal }: ResolveOptions,
    pages: PagePrefetcher,
  ): HostTool[] {
    const known: Link[] = [
      ...stored.map(({ file, path }) => ({ file, url: pathToFileURL(path).href, sha256: basename(path) })),
      ...(pyodideUrl === undefined ? [] : distributionWheels(lock, pyodideUrl)),
    ];
    const knownUrls = new Set(known.map(({ url }) => url));
    return [
      hostTool({
        name: "request",
        description: "Returns what to resolve.",
        parameters: z.object({}),
        run: () => ({ requirements: [...requirements], constraints: [...constraints], links: known }),
      }),
      hostTool({
        name: "page",
        description: "Returns the page of a project.",
        parameters: z.object({ project: z.string() }),
        run: ({ project }) => pages.read(project),
      }),
      hostTool({
        name: "prefetch",
        description: "Begins to read pages that `page` returns later.",
        parameters: z.object({ projects: z.array(z.string()) }),
        run: ({ projects }) => pages.prefetch(projects),
      }),
      hostTool({
        name: "metadata",
        description: "Returns the metadata of a wheel.",
        parameters: z.object({ url: z.string(), sha256: z.string(), separate: z.boolean() }),
        run: ({ url, ...rest }) => {
          if (!/^https?:\/\//.test(url) && !knownUrls.has(url)) {
            throw new UsageError(`Cannot read metadata of '${url}' as it must be an address of the web`);
          }
          return this.#metadata(url, { ...rest, signal });
        },
      }),
    ];
  }

  async #metadata(
    url: string,
    { sha256: digest, separate, signal }: { sha256: string; separate: boolean; signal: AbortSignal },
  ): Promise<string> {
    const onProgress = () => {};
    if (separate) return decode(await fetchFile(`${url}.metadata`, { onProgress, signal }));
    const bytes = await fetchFile(url, { onProgress, signal });
    const name = basename(new URL(url).pathname);
    if (digest === "" || await sha256(bytes) !== digest) {
      throw new ResolutionError({ kind: "hash", package: name });
    }
    this.#wheels.set(url, bytes);
    const path = /^[^/]+\.dist-info\/METADATA$/;
    const metadata = await expandFirst(bytes, { path, maxBytes: MAX_METADATA_BYTES });
    if (metadata !== undefined) return decode(metadata);
    throw new UsageError(
      `Cannot read '${name}' as a wheel must have a file METADATA of at most ${MAX_METADATA_BYTES} bytes: it has none`,
    );
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function distributionWheels(lock: DistributionLock, baseUrl: string): Link[] {
  return Object.values(lock.packages).filter(({ file_name }) => file_name.endsWith(".whl"))
    .map(({ file_name, sha256 }) => ({ file: file_name, url: new URL(file_name, baseUrl).href, sha256 }));
}
