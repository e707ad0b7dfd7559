import { zipSync } from "fflate";
import { sha256 } from "../../../src/hash.ts";

/** A wheel that a test makes. */
export interface TestWheel {
  readonly name: string;
  readonly version: string;
  /** Python, ABI and platform. @default "py3-none-any" */
  readonly tags?: string;
  /** Requirements, with their markers. */
  readonly requires?: readonly string[];
  readonly extras?: readonly string[];
  /** Versions of Python that it is for. */
  readonly python?: string;
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly yanked?: boolean;
  /** Hash that the index states. @default that of the file */
  readonly statedSha256?: string;
}

/** Further properties of a {@linkcode PackageIndex}. */
export interface IndexOptions {
  /** Files under `/mirror/`. */
  readonly mirrored?: readonly ServedFile[];
  /** Links of pages that the index has beside those of its wheels, by project. */
  readonly links?: Readonly<Record<string, string>>;
  /** Projects whose pages are sent once all of the pages have been requested; after 10 s, a page is an error. */
  readonly together?: readonly string[];
  /** Value of the header `authorization` that each request must have. */
  readonly authorization?: string;
  /** Certificate and key, in the form of PEM. The index then speaks HTTPS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** A file of an index or a mirror. */
export interface ServedFile {
  readonly file: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly sha256: string;
}

/** Makes the file of a wheel. */
export async function makeWheel(wheel: TestWheel): Promise<ServedFile> {
  const { name, version, tags = "py3-none-any", requires = [], extras = [], files = {} } = wheel;
  const project = name.replaceAll("-", "_");
  const info = `${project}-${version}.dist-info`;
  const metadata = ["Metadata-Version: 2.1", `Name: ${name}`, `Version: ${version}`]
    .concat(wheel.python === undefined ? [] : [`Requires-Python: ${wheel.python}`])
    .concat(extras.map((extra) => `Provides-Extra: ${extra}`))
    .concat(requires.map((requirement) => `Requires-Dist: ${requirement}`));
  const bytes = makeZip({
    [`${project}/__init__.py`]: `__version__ = "${version}"\n`,
    ...files,
    [`${info}/METADATA`]: `${metadata.join("\n")}\n`,
    [`${info}/WHEEL`]: `Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: ${tags}\n`,
    [`${info}/RECORD`]: "",
  });
  return { file: `${project}-${version}-${tags}.whl`, bytes, sha256: await sha256(bytes) };
}

/** Makes a ZIP archive. */
export function makeZip(files: Readonly<Record<string, string | Uint8Array>>): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const entries = Object.entries(files).map(([path, text]) =>
    [path, typeof text === "string" ? encoder.encode(text) : text] as const
  );
  return new Uint8Array(zipSync(Object.fromEntries(entries)));
}

/** Wheels of PyPI that the resolver of the sandbox needs. Their licences are in the wheels. */
const LIBRARIES = ["packaging-26.3-py3-none-any.whl", "resolvelib-1.2.1-py3-none-any.whl"];

/** Holds requests of some paths until all of the paths have been requested. */
class RequestGate {
  readonly #paths: ReadonlySet<string>;
  readonly #missing: Set<string>;
  readonly #complete = Promise.withResolvers<void>();

  constructor(paths: readonly string[]) {
    this.#paths = new Set(paths);
    this.#missing = new Set(paths);
  }

  async wait(path: string): Promise<void> {
    if (!this.#paths.has(path)) return;
    this.#missing.delete(path);
    if (this.#missing.size === 0) this.#complete.resolve();
    const late = setTimeout(
      () => this.#complete.reject(new Error("the other pages are not requested")),
      10_000,
    );
    await this.#complete.promise.finally(() => clearTimeout(late));
  }
}

/** A package index on loopback, in the form of PEP 503, and a folder of further files. */
export class PackageIndex implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  readonly #pages: ReadonlyMap<string, string>;
  readonly #scheme: "http" | "https";
  /** Paths that were requested. */
  readonly requests: string[] = [];

  private constructor(
    files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
    pages: ReadonlyMap<string, string>,
    { authorization, tls, together = [] }: IndexOptions,
  ) {
    const gate = new RequestGate(together.map((name) => `/simple/${name}/`));
    this.#files = files;
    this.#pages = pages;
    this.#scheme = tls === undefined ? "http" : "https";
    const options = { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...tls };
    this.#server = Deno.serve(options, async (request) => {
      const { pathname } = new URL(request.url);
      this.requests.push(pathname);
      if (authorization !== undefined && request.headers.get("authorization") !== authorization) {
        const headers = { "www-authenticate": 'Basic realm="index"' };
        return new Response("a user and a password are needed", { status: 401, headers });
      }
      await gate.wait(pathname);
      return this.#respond(decodeURIComponent(pathname));
    });
  }

  /**
   * Serves wheels that a test makes, and the two libraries of the resolver.
   */
  static async serve(wheels: readonly TestWheel[], options: IndexOptions = {}): Promise<PackageIndex> {
    const { mirrored = [], links: further = {} } = options;
    const files = new Map(mirrored.map(({ file, bytes }) => [`/mirror/${file}`, bytes]));
    const links = new Map(Object.entries(further).map(([name, link]) => [name, [link]]));
    for (const wheel of wheels) {
      const { file, bytes, sha256 } = await makeWheel(wheel);
      files.set(`/files/${file}`, bytes);
      const yanked = wheel.yanked ? ' data-yanked="broken"' : "";
      const link = `<a href="/files/${file}#sha256=${wheel.statedSha256 ?? sha256}"${yanked}>${file}</a>`;
      links.set(wheel.name, [...links.get(wheel.name) ?? [], link]);
    }
    for (const file of LIBRARIES) {
      const bytes = await Deno.readFile(new URL(`../../data/wheels/${file}`, import.meta.url));
      files.set(`/files/${file}`, bytes);
      const name = file.split("-")[0] ?? "";
      links.set(name, [`<a href='/files/${file}#sha256=${await sha256(bytes)}'>${file}</a>`]);
    }
    const pages = [...links].map(([name, lines]) =>
      [`/simple/${name}/`, `<!DOCTYPE html><html><body>${lines.join("\n")}</body></html>`] as const
    );
    return new PackageIndex(files, new Map(pages), options);
  }

  get #origin(): string {
    return `${this.#scheme}://127.0.0.1:${this.#server.addr.port}`;
  }

  get url(): string {
    return `${this.#origin}/simple/`;
  }

  get mirrorUrl(): string {
    return `${this.#origin}/mirror/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  #respond(path: string): Response {
    const page = this.#pages.get(path);
    if (page !== undefined) return new Response(page, { headers: { "content-type": "text/html" } });
    const bytes = this.#files.get(path);
    return bytes === undefined ? new Response("no such file", { status: 404 }) : new Response(bytes);
  }
}
