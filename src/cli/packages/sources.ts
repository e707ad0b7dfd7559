import { UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";
import { distributionUrl } from "./distribution.ts";
import { readDistributionAddress } from "../../sandbox/image/pyodide.ts";
import { confirmDownload } from "./first_use.ts";
import type { Installation, OfferDistribution } from "./install.ts";
import { PipResolver } from "./pip.ts";
import type { PackageResolver } from "./resolution.ts";
import { SandboxResolver } from "./sandbox_resolver.ts";

/** Options of commands that download packages. */
export interface SourceFlags {
  index?: string;
  pyodideUrl?: string;
  /** True if the user has agreed to downloads. */
  yes?: boolean;
}

/** Returns the sources of packages that options, the environment and the programs of the host name. */
export function createInstallation(
  { index, pyodideUrl, yes = false }: SourceFlags,
  { cacheDir, signal, readAddress = readDistributionAddress }: {
    cacheDir: string;
    signal: AbortSignal;
    /** Returns the default address of the distribution. @default the address in Pyodide's npm package */
    readAddress?: () => Promise<string>;
  },
): Installation {
  const distribution = pyodideUrl ?? currentIo().env.get("PADDOCK_PYODIDE_URL");
  let found: Promise<PackageResolver> | undefined;
  let agreed = yes;
  const offerDistribution: OfferDistribution = async (names, { isAgreed = agreed } = {}) => {
    const url = distributionUrl(await readAddress());
    agreed = isAgreed || await confirmDownload(`Pyodide's distribution at ${url} has ${names.join(", ")}\n`);
    return agreed ? url : undefined;
  };
  return {
    cacheDir,
    offerDistribution,
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
