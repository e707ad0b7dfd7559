import type { PluginFileOptions } from "../../plugins/plugin_host.ts";
import type { TransformFile } from "../../plugins/transform_file.ts";
import { grantFlags, type Grants } from "../../sandbox/process/grants.ts";
import { checkUsage, rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { requireReadable } from "../input.ts";
import { currentIo } from "../io.ts";
import { isPythonPath, printFor } from "./python_files.ts";

/** Help text of an option that names permissions. */
export const ALLOW_HELP = "read, write, net, env, sys or import, as in net=localhost:8000; repeatable";

/** A file that the user gave in place of a name, with the permissions of the file's process. */
export interface PluginFile {
  readonly path: string;
  /** Flag that grants permissions, such as `--grader-allow`. */
  readonly allowFlag: string;
  /** Values of that flag. */
  readonly allow: readonly string[];
}

/** True if the value of an option is the path of a TypeScript, JavaScript or Python file and not a name or a URL. */
export function isPluginPath(value: string): boolean {
  return /^\.{0,2}\/|^(?![a-z][\w+-]*:).*\.(?:[mc]?[jt]s|py)$/is.test(value);
}

/**
 * Starts the process of a file.
 *
 * @throws {UsageError} if the file cannot be read or does not start, or a permission cannot be granted.
 */
export async function openPlugin<Opened extends AsyncDisposable>(
  { path, ...grants }: PluginFile,
  open: (
    path: string,
    options: Pick<PluginFileOptions, "permissions" | "env" | "signal" | "onPrint">,
  ) => Promise<Opened>,
  { stack, signal }: { stack: AsyncDisposableStack; signal?: AbortSignal | undefined },
): Promise<Opened> {
  const permissions = parseGrants(grants);
  await requireReadable(path);
  if (isPythonPath(path)) {
    const noun = grants.allowFlag.replace(/^--|-allow$/g, "");
    throw new UsageError(
      `Cannot start ${noun} file '${path}' as a ${noun} file must be TypeScript or JavaScript: found Python`,
    );
  }
  const env = grantedVariables(permissions);
  const onPrint = (text: string) => printFor(path, text);
  return await rethrowAsUsageError(async () =>
    stack.use(await open(path, { permissions, env, signal, onPrint }))
  );
}

/** Flags that select transforms in files. */
export interface TransformFlags {
  /** Paths of the files. */
  transform?: readonly string[];
  /** Permissions of the files. */
  transformAllow?: readonly string[];
}

/**
 * Starts the files of `--transform`, in order.
 *
 * @throws {UsageError} if a file does not start.
 */
export async function openTransforms(
  { transform: paths = [], transformAllow: allow = [] }: TransformFlags,
  owner: { stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<TransformFile[]> {
  const grants = { allow, allowFlag: "--transform-allow" };
  if (paths.length === 0) {
    refuseGrants(grants);
    return [];
  }
  const { transformFile } = await import("../../plugins/transform_file.ts");
  return await Promise.all(paths.map((path) => openPlugin({ path, ...grants }, transformFile, owner)));
}

/**
 * Returns the permissions that the values of a flag grant: `net` or `net=localhost:8000,example.org`.
 *
 * @throws {UsageError} if a permission is unknown or cannot be granted.
 */
export function parseGrants({ allow, allowFlag }: Pick<PluginFile, "allow" | "allowFlag">): Grants {
  const grants = new Map<string, true | readonly string[]>();
  for (const value of allow) {
    const [, name = "", items] = /^([^=]*)(?:=(.*))?$/s.exec(value) ?? [];
    if (name === "env" && items === undefined) {
      throw new UsageError(`Cannot grant 'env' as its variables must be named: give ${allowFlag} env=NAME`);
    }
    const earlier = grants.get(name) ?? [];
    grants.set(name, items === undefined || earlier === true ? true : [...earlier, ...items.split(",")]);
  }
  const permissions: Grants = Object.fromEntries(grants);
  checkUsage(() => grantFlags(permissions));
  return permissions;
}

/** Returns the variables of this process that a file may read. */
function grantedVariables({ env }: Grants): Record<string, string> {
  const names = Array.isArray(env) ? env as readonly string[] : [];
  return Object.fromEntries(names.flatMap((name) => {
    const value = currentIo().env.get(name);
    return value === undefined ? [] : [[name, value]];
  }));
}

/**
 * Checks that permissions are granted to a file only.
 *
 * @throws {UsageError} if there are permissions and no file.
 */
export function refuseGrants({ allow, allowFlag }: Pick<PluginFile, "allow" | "allowFlag">): void {
  if (allow.length === 0) return;
  const flag = allowFlag.replace(/-allow$/, "");
  throw new UsageError(`Cannot grant permissions as ${allowFlag} needs a file: give ${flag} FILE.ts`);
}
