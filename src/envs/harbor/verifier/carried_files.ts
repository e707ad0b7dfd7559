import { posix } from "node:path";
import { isSystemPath, isUnder } from "../config/carried_paths.ts";
import type { BundleEntry, FileBundle } from "../session/file_bundle.ts";
import { type CarriedPaths, HARBOR_HOME } from "../task.ts";

/** Changes that bring the files of an agent into the session of a verifier. */
export interface CarriedFiles {
  readonly entries: readonly BundleEntry[];
  /** Paths that the image has and the agent has removed. */
  readonly removed: readonly string[];
  /** Paths of the agent that the verifier does not get. */
  readonly leftOut: readonly string[];
}

/** Input of {@linkcode chooseCarried}. */
export interface CarriedInput {
  /** Files of the agent. */
  readonly agent: readonly BundleEntry[];
  /** Files of the image, and the modules of the verifier's Python. */
  readonly image: FileBundle;
  readonly paths: CarriedPaths;
  /** Folder in which the verifier starts. */
  readonly workdir: string;
}

/** Files that Python, pytest or bash load by their names, without a test that names them. */
const HOOK =
  /^(?:conftest\.py|\.?pytest\.(?:ini|toml)|tox\.ini|(?:site|user)customize\.py|.*\.pth|.*\.pyc|\.(?:bash|pro|z|k)\w*rc|\.(?:bash_|z)?profile|\.bash_(?:login|logout|aliases)|\.env|\.envrc|\.netrc|\.gitconfig|\.pdbrc|\.coveragerc)$/;
/** Files of projects, which may also configure pytest. */
const PROJECT = /^(?:pyproject\.toml|setup\.cfg)$/;
const MODULE = /^(\w+)(?:\.py|(?:\.[\w-]+)?\.so)$/;

/**
 * Chooses what of an agent's files a verifier gets. A file that only prepares how the verifier runs is left out: a hook of
 * Python, pytest or bash, a module that hides another one, a link out of the carried paths, a program of the system. Such
 * a file is carried if the image has the same, or if the instruction names the file.
 */
export function chooseCarried({ agent, image, paths, workdir }: CarriedInput): CarriedFiles {
  const before = new Map(image.entries.map((entry) => [entry.path, entry]));
  const hidden = new Set(image.modules);
  const isOwn = (entry: BundleEntry) => isSame(entry, before.get(entry.path));
  const isNamed = ({ path }: BundleEntry) =>
    paths.named.includes(path) || paths.namedFiles.includes(posix.basename(path));
  const isLeftOut = (entry: BundleEntry) =>
    leadsOut(entry, paths.roots) || !isOwn(entry) && !isNamed(entry) && (
        isHook(entry) || hidesModule(entry, { hidden, workdir, before }) || isHomeFile(entry.path)
      ) ||
    !isOwn(entry) && isShim(entry, { paths, before });
  const leftOut = agent.filter(isLeftOut).map(({ path }) => path);
  const isInside = (path: string) => isUnder(path, leftOut);
  const kept = agent.filter(({ path }) => !isInside(path));
  const present = new Set(agent.map(({ path }) => path));
  const removed = [...before.values()].filter((entry) =>
    !present.has(entry.path) && (!isHook(entry) || isNamed(entry))
  );
  return {
    entries: kept.filter((entry) => !isOwn(entry)),
    removed: removed.map(({ path }) => path),
    leftOut,
  };
}

function isSame(entry: BundleEntry, other: BundleEntry | undefined): boolean {
  if (entry.kind === "file") {
    return other?.kind === "file" && entry.isExecutable === other.isExecutable &&
      sameBytes(entry.contents, other.contents);
  }
  if (entry.kind === "link") return other?.kind === "link" && entry.target === other.target;
  return other?.kind === "folder";
}

function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

function isHook(entry: BundleEntry): boolean {
  const name = posix.basename(entry.path);
  if (HOOK.test(name) || entry.path.includes("/.git/hooks/")) return true;
  if (entry.kind === "link") return PROJECT.test(name);
  return entry.kind === "file" && PROJECT.test(name) &&
    new TextDecoder().decode(entry.contents).includes("pytest");
}

/** True for a module in the verifier's folder that Python would import in the place of another module. */
function hidesModule(
  { path, kind }: BundleEntry,
  { hidden, workdir, before }: {
    hidden: ReadonlySet<string>;
    workdir: string;
    before: ReadonlyMap<string, BundleEntry>;
  },
): boolean {
  const isModule = kind !== "folder" && posix.dirname(path) === workdir;
  const isPackage = posix.basename(path) === "__init__.py" && posix.dirname(posix.dirname(path)) === workdir;
  const isLink = kind === "link" && posix.dirname(path) === workdir;
  const name = isPackage || isLink
    ? posix.basename(isPackage ? posix.dirname(path) : path).replace(/\.py$/, "")
    : isModule
    ? MODULE.exec(posix.basename(path))?.[1]
    : undefined;
  return name !== undefined && hidden.has(name) && !before.has(path);
}

/** True for a file of the home that programs read at their start. */
function isHomeFile(path: string): boolean {
  return path.startsWith(`${HARBOR_HOME}/.`) || path.split("/").includes("site-packages");
}

/** True for a file in a folder of the system, except a new file that the instruction names. */
function isShim(
  { path, kind }: BundleEntry,
  { paths, before }: { paths: CarriedPaths; before: ReadonlyMap<string, BundleEntry> },
): boolean {
  if (!isSystemPath(path)) return false;
  const isAsked = paths.named.includes(path) && kind === "file";
  return !isAsked || (before.has(path) && !path.startsWith("/etc/"));
}

/** True for a symbolic link whose target is outside of the carried paths. */
function leadsOut(entry: BundleEntry, roots: readonly string[]): boolean {
  if (entry.kind !== "link") return false;
  const target = posix.resolve(posix.dirname(entry.path), entry.target);
  return !isUnder(target, roots) && target !== "/dev/null";
}
