import { pathToFileURL } from "node:url";
import { resolve } from "node:path";
import { errorMessage } from "../../errors.ts";
import type { DistributedPackage, DistributionLock } from "../../sandbox/image/pyodide.ts";
import { normalizeName } from "../../sandbox/profile/packages.ts";
import { UsageError } from "../cli_errors.ts";
import { type DownloadProgress, ResolutionError, type ResolvedPackage } from "./resolution.ts";

/** Values of the environment markers of the sandbox, as PEP 508 names them. */
export type TargetEnvironment = Readonly<Record<string, string>>;

/** Returns the environment markers of the interpreter that the distribution is for. */
export function targetEnvironment({ info }: DistributionLock): TargetEnvironment {
  return {
    implementation_name: "cpython",
    implementation_version: info.python,
    os_name: "posix",
    platform_machine: info.arch,
    platform_python_implementation: "CPython",
    platform_release: info.platform.replace(/^emscripten_/, "").replaceAll("_", "."),
    platform_system: "Emscripten",
    platform_version: "#1",
    python_full_version: info.python,
    python_version: info.python.split(".").slice(0, 2).join("."),
    sys_platform: "emscripten",
  };
}

/** Returns the address of a distribution with a slash at the end. A folder becomes an address of a file. */
export function distributionUrl(urlOrFolder: string): string {
  const isUrl = /^(https?|file):\/\//.test(urlOrFolder);
  const url = isUrl ? urlOrFolder : pathToFileURL(resolve(urlOrFolder)).href;
  return url.endsWith("/") ? url : `${url}/`;
}

/** Returns a page of links to the wheels of the distribution, with their hashes, in the form of PEP 503. */
export function distributionLinks(lock: DistributionLock, baseUrl: string): string {
  const links = Object.values(lock.packages).filter(({ file_name }) => file_name.endsWith(".whl")).map((
    { file_name, sha256 },
  ) => `<a href="${new URL(file_name, baseUrl).href}#sha256=${sha256}">${file_name}</a>`);
  return `<!DOCTYPE html><html><body>\n${links.join("\n")}\n</body></html>\n`;
}

/** A package of the distribution that holds shared libraries and no Python. */
export interface SharedLibrary {
  readonly entry: DistributedPackage;
  /** Names of the packages that need the package. */
  readonly neededBy: readonly string[];
}

/** Returns the shared libraries that the chosen packages of the distribution need, and that those need. */
export function neededSharedLibraries(
  lock: DistributionLock,
  packages: readonly ResolvedPackage[],
): SharedLibrary[] {
  const pending = packages.flatMap(({ name, sha256 }) => {
    const entry = lock.packages[name];
    return entry?.sha256 === sha256 ? [entry] : []; // a wheel of the index needs none
  });
  const users = new Map<DistributedPackage, Set<string>>();
  for (let user = pending.pop(); user !== undefined; user = pending.pop()) {
    for (const name of user.depends) {
      const entry = lock.packages[name];
      if (entry?.package_type !== "shared_library") continue; // a resolver has chosen the package by metadata
      if (!users.has(entry)) pending.push(entry);
      users.set(entry, (users.get(entry) ?? new Set()).add(normalizeName(user.name)));
    }
  }
  return [...users].map(([entry, names]) => ({ entry, neededBy: [...names].sort() }));
}

/** Maximum size of a file that is downloaded, in bytes: what the packages of a profile may expand to. */
const MAX_FILE_BYTES = 512 * 1024 * 1024;
/** Maximum size of a page of an index, in bytes. Pages of packages with thousands of files have some 10 MB. */
const MAX_PAGE_BYTES = 64 * 1024 * 1024;

/**
 * Downloads a file.
 *
 * @throws {UsageError} if the server cannot be reached or has no such file, or the file has more than `maxBytes`.
 */
export async function fetchFile(
  url: string,
  { onProgress, signal, maxBytes = MAX_FILE_BYTES }: {
    onProgress: (progress: DownloadProgress) => void;
    signal: AbortSignal;
    maxBytes?: number;
  },
): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetchResponse(url, signal);
  const total = Number(response.headers.get("content-length")) || undefined;
  return await readBody(response, {
    maxBytes,
    onBytes: (done) => onProgress({ done, total }),
  });
}

/** Reads a body, whatever size the server states. */
async function readBody(
  response: Response,
  { maxBytes, onBytes }: { maxBytes: number; onBytes?: (done: number) => void },
): Promise<Uint8Array<ArrayBuffer>> {
  let done = 0;
  const counted = response.body?.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        done += chunk.length;
        if (done > maxBytes) {
          const error = new UsageError(
            `Cannot download '${response.url}' as it must have at most ${maxBytes} bytes: it has more`,
          );
          controller.error(error);
          throw error;
        }
        onBytes?.(done);
        controller.enqueue(chunk);
      },
    }),
  );
  return await new Response(counted ?? null).bytes();
}

/**
 * Returns the page of a package index, which is empty if the index lacks the page.
 *
 * @throws {ResolutionError} if the index cannot be reached.
 * @throws {UsageError} if the response is an error, or has more than 64 MiB.
 */
export async function fetchPage(url: string, signal: AbortSignal): Promise<{ html: string; url: string }> {
  const headers = { accept: "application/vnd.pypi.simple.v1+html, text/html;q=0.5" };
  let response: Response;
  try {
    response = await fetch(url, { signal, headers });
  } catch {
    signal.throwIfAborted();
    throw new ResolutionError({ kind: "offline", address: url });
  }
  const html = new TextDecoder().decode(await readBody(response, { maxBytes: MAX_PAGE_BYTES }));
  if (response.ok) return { html, url: response.url };
  if (response.status === 404) return { html: "", url };
  throw new UsageError(
    `Cannot read package index '${url}' as its status must be 200: it is ${response.status}`,
  );
}

async function fetchResponse(url: string, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`Cannot reach '${url}': check the network and the address; ${errorMessage(error)}`, {
      cause: error,
    });
  }
  if (response.ok) return response;
  await response.body?.cancel();
  throw new UsageError(
    `Cannot download '${url}' as the server must have it: its status is ${response.status}`,
  );
}
