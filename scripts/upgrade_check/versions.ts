import { join } from "node:path";

/** Versions that the clone names: of npm's packages `deno` and `pyodide`. */
export interface Versions {
  readonly deno: string;
  readonly pyodide: string;
}

/** A version in a text. */
export interface Mention {
  readonly of: keyof Versions;
  readonly version: string;
}

const VERSION = String.raw`(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)`;

/** Matches what names a version: `deno@…`, `deno==…`, an image `deno:…`, and the place in deno.json that decides. */
const PATTERNS: Readonly<Record<keyof Versions, RegExp>> = {
  deno: new RegExp(String.raw`(\bdeno(?:@|==|:(?:[a-z]+-)?|" *: *"))${VERSION}`, "g"),
  pyodide: new RegExp(String.raw`(\b(?:pyodide@|Pyodide ))${VERSION}`, "g"),
};

const NAMES = ["deno", "pyodide"] as const;

/** Folders that are no part of the clone. */
const SKIPPED = new Set([".git", ".paddock", ".venv", "coverage", "dist", "node_modules", "runs"]);
/** Matches the texts that may name versions. Deno itself writes the lock file. */
const TEXTS = /(?:^|[/.])(?:ts|js|mjs|json|jsonc|md|toml|ya?ml|py|sh|service|Dockerfile|run)$/;

/** Returns the paths of the files of a clone, in order. */
export async function listFiles(root: string, folder = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory, isFile } of Deno.readDir(join(root, folder))) {
    if (SKIPPED.has(name)) continue;
    if (isDirectory) found.push(...await listFiles(root, join(folder, name)));
    else if (isFile) found.push(join(folder, name));
  }
  return found.sort();
}

/** Returns the paths of the texts of a clone that may name versions, in order. */
export async function listTexts(root: string): Promise<string[]> {
  return (await listFiles(root)).filter((path) => TEXTS.test(path));
}

/** Returns the versions of Deno and Pyodide that a text names. */
export function findVersions(text: string): Mention[] {
  return NAMES.flatMap((of) =>
    [...text.matchAll(PATTERNS[of])].map(([, , version = ""]) => ({ of, version }))
  );
}

/** Returns a text with other versions in the same places. */
export function replaceVersions(text: string, versions: Versions): string {
  return NAMES.reduce((changed, of) => changed.replaceAll(PATTERNS[of], `$1${versions[of]}`), text);
}

/** Returns the versions of `deno.json`, from which all others are derived. */
export async function readVersions(root: string): Promise<Versions> {
  const found = findVersions(await Deno.readTextFile(join(root, "deno.json")));
  const versionOf = (of: keyof Versions) => found.find((mention) => mention.of === of)?.version ?? "";
  return { deno: versionOf("deno"), pyodide: versionOf("pyodide") };
}

/** Writes other versions into every text of a clone. Returns the paths that were changed. */
export async function writeVersions(root: string, versions: Versions): Promise<string[]> {
  const changed: string[] = [];
  for (const path of await listTexts(root)) {
    const text = await Deno.readTextFile(join(root, path));
    const replaced = replaceVersions(text, versions);
    if (replaced === text) continue;
    await Deno.writeTextFile(join(root, path), replaced);
    changed.push(path);
  }
  return changed;
}
