import manifest from "../deno.json" with { type: "json" };

/**
 * Writes `src/deno.json` and `src/deno.lock`, with which the command line runs, and the lock file of the shell's bundle.
 * Deno downloads all packages of a lock file at the first start. These files have those that a start needs, and
 * `deno.lock` also those of tests, packages and the shell: 105 MB instead of 227 MB.
 */

/** Packages that no start needs. */
const LATER: ReadonlySet<string> = new Set([
  "dts-bundle-generator",
  "fast-check",
  "just-bash",
  "typescript",
  "wabt",
]);
/** Packages that the bundle of the shell needs beside those of a start. */
const OF_SHELL = "just-bash";

const ROOT = new URL("../", import.meta.url);
/** Configuration with which the command line runs, relative to the root. */
export const RUN_CONFIG = "src/deno.json";
/** Lock file of {@linkcode RUN_CONFIG}. */
export const RUN_LOCK = "src/deno.lock";
/** Lock file with which the shell is bundled. */
export const SHELL_LOCK = "src/sandbox/image/shell/shell_bundle.lock";

interface LockFile {
  readonly version: string;
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, LockedPackage>>;
  readonly workspace: object;
}

interface LockedPackage {
  readonly dependencies?: readonly string[];
  readonly optionalDependencies?: readonly string[];
  readonly optionalPeers?: readonly string[];
}

/** Returns the contents of the files by path. */
export async function runFiles(): Promise<Record<string, string>> {
  const { imports, compilerOptions, unstable, allowScripts, lint, fmt } = manifest;
  const own = Object.entries(imports).map(([name, target]) => [name, target.replace(/^\.\/src\//, "./")]);
  const { lineWidth } = fmt;
  const config = {
    imports: Object.fromEntries(own),
    compilerOptions,
    unstable,
    allowScripts,
    lint,
    fmt: { lineWidth },
  };
  const lock: LockFile = JSON.parse(await Deno.readTextFile(new URL("deno.lock", ROOT)));
  const isOfStart = (specifier: string) => !LATER.has(nameOf(specifier));
  return {
    [RUN_CONFIG]: toText(config),
    [RUN_LOCK]: toText(partOf(lock, isOfStart)),
    [SHELL_LOCK]: toText(partOf(lock, (specifier) => isOfStart(specifier) || nameOf(specifier) === OF_SHELL)),
  };
}

/** Returns a lock file with the packages of some specifiers, and all that these depend on. */
function partOf(lock: LockFile, has: (specifier: string) => boolean): LockFile {
  const specifiers = Object.fromEntries(Object.entries(lock.specifiers).filter(([name]) => has(name)));
  const found = new Set<string>();
  const add = (id: string) => {
    const known = lock.npm[id];
    if (known === undefined || found.has(id)) return;
    found.add(id);
    for (const name of [...known.dependencies ?? [], ...known.optionalDependencies ?? []]) {
      add(resolve(lock, name));
    }
  };
  for (const [specifier, version] of Object.entries(specifiers)) add(`${nameOf(specifier)}@${version}`);
  const npm = Object.fromEntries(Object.entries(lock.npm).filter(([id]) => found.has(id)));
  return { ...lock, specifiers, npm };
}

/** Returns the id of a dependency, which a lock file abbreviates to its name if there is one version of it. */
function resolve({ npm }: LockFile, name: string): string {
  if (Object.hasOwn(npm, name)) return name;
  return Object.keys(npm).find((id) => id.startsWith(`${name}@`)) ?? name;
}

/** Returns the name of `npm:@scope/name@1.2.3`. */
function nameOf(specifier: string): string {
  return /^npm:(@?[^@]+)/.exec(specifier)?.[1] ?? specifier;
}

function toText(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(await runFiles())) {
    await Deno.writeTextFile(new URL(path, ROOT), text);
  }
}
