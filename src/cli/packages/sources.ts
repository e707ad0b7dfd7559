import { UsageError } from "../errors.ts";
import { currentIo } from "../io.ts";
import { distributionUrl } from "./distribution.ts";
import type { Installation } from "./install.ts";
import { PipResolver } from "./pip.ts";
import type { PackageResolver } from "./resolution.ts";
import { SandboxResolver } from "./sandbox_resolver.ts";

/** Options of commands that download packages. */
export interface SourceFlags {
  index?: string;
  pyodideUrl?: string;
}

/** Returns the sources of packages that options, the environment and the programs of the host name. */
export function createInstallation(
  { index, pyodideUrl }: SourceFlags,
  { cacheDir, signal }: { cacheDir: string; signal: AbortSignal },
): Installation {
  const distribution = pyodideUrl ?? currentIo().env.get("PADDOCK_PYODIDE_URL");
  let found: Promise<PackageResolver> | undefined;
  return {
    cacheDir,
    signal,
    pyodideUrl: distribution ? distributionUrl(distribution) : undefined,
    resolver: () => found ??= findResolver(index, cacheDir),
  };
}

async function findResolver(index: string | undefined, cacheDir: string): Promise<PackageResolver> {
  const pip = await PipResolver.find({ index });
  if (pip !== undefined) return pip;
  if (index !== undefined) {
    return new SandboxResolver({ index: index.endsWith("/") ? index : `${index}/`, cacheDir });
  }
  throw new UsageError(
    "Cannot resolve packages as neither python3 with pip nor uv is installed: install one of them, or name a package " +
      "index with --index",
  );
}
