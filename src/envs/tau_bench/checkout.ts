import { join, resolve } from "node:path";

/** Domain of a tau-bench checkout, or of a folder with the same layout. */
export interface CheckoutDomain {
  /** Absolute path of the package `tau_bench`. */
  readonly packagePath: string;
  readonly domain: string;
}

/**
 * Finds a domain by its file `tau_bench/envs/<domain>/env.py`.
 *
 * @throws {Deno.errors.NotFound} if the path is not a checkout, or has no such domain.
 */
export async function findDomain(path: string, domain: string): Promise<CheckoutDomain> {
  const packagePath = await findPackage(path);
  if (/^[A-Za-z_]\w*$/.test(domain) && await isFile(join(packagePath, "envs", domain, "env.py"))) {
    return { packagePath, domain };
  }
  const domains = (await findDomains(path)).join(", ") || "none";
  throw new Deno.errors.NotFound(
    `Cannot open domain '${domain}' of the tau-bench checkout at '${path}' as it does not exist: found ${domains}`,
  );
}

/**
 * Lists the names of the domains of a checkout.
 *
 * @throws {Deno.errors.NotFound} if the path is not a checkout.
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
      `Cannot open tau-bench at '${path}' as it must be a checkout: there is no file 'tau_bench/${file}'`,
    );
  }
  return packagePath;
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false; // an unreadable path counts as missing
  }
}
