import { join, resolve } from "node:path";

/** A checkout of tau-bench, or a folder with the same layout, and one of its domains. */
export interface CheckoutDomain {
  /** The absolute path of its package `tau_bench`. */
  readonly packagePath: string;
  readonly domain: string;
}

/**
 * Finds a domain by the files that the layout has: `tau_bench/envs/<domain>/env.py` and its neighbours.
 *
 * @throws {Deno.errors.NotFound} when the path is no checkout, or has no such domain.
 */
export async function findDomain(path: string, domain: string): Promise<CheckoutDomain> {
  const packagePath = await findPackage(path);
  if (/^[A-Za-z_]\w*$/.test(domain) && await isFile(join(packagePath, "envs", domain, "env.py"))) {
    return { packagePath, domain };
  }
  const known = (await findDomains(path)).join(", ") || "none";
  throw new Deno.errors.NotFound(
    `Cannot open domain '${domain}' of the tau-bench at '${path}' as it must be one that is there: there are ${known}`,
  );
}

/**
 * The names of the domains that a checkout has.
 *
 * @throws {Deno.errors.NotFound} when the path is no checkout.
 */
export async function findDomains(path: string): Promise<string[]> {
  const envs = join(await findPackage(path), "envs");
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(envs)) {
    if (isDirectory && await isFile(join(envs, name, "env.py"))) found.push(name);
  }
  return found.sort();
}

async function findPackage(path: string): Promise<string> {
  const packagePath = join(resolve(path), "tau_bench");
  for (const file of ["envs/base.py", "types.py"]) {
    if (await isFile(join(packagePath, file))) continue;
    throw new Deno.errors.NotFound(
      `Cannot open tau-bench at '${path}' as it must be a checkout of it: there is no file 'tau_bench/${file}'`,
    );
  }
  return packagePath;
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false; // what cannot be looked at is not there for us
  }
}
