import { type CarriedPaths, HARBOR_HOME, type ImagePlan } from "../task.ts";

/** Folders of the system and of the verifier. A path in them is carried only if the instruction names the file. */
const SYSTEM_FOLDERS: readonly string[] = [
  "/bin",
  "/boot",
  "/etc",
  "/lib",
  "/lib64",
  "/sbin",
  "/usr",
  "/run",
];
/** Folders of which no file is carried. */
const CLOSED_FOLDERS: readonly string[] = ["/dev", "/proc", "/sys", "/tests", "/solution", "/logs"];
const ARTIFACTS = "/logs/artifacts";

/** An absolute path in a text: not the path of an address, and not a part of a relative path. */
const ABSOLUTE = /(?<![\w.:~/$}<-])\/[A-Za-z0-9_][\w.\/-]*/g;
/** A word that looks like the name of a file. */
const FILE_NAME = /(?<![\w.-])[\w-]+(?:\.[A-Za-z]\w*)+(?![\w-])/g;

/**
 * Returns the paths that a verifier in the agent's image gets: the folder of the work, folders that the image fills, and
 * paths that the instruction or the tests name.
 */
export function carriedPaths(
  { instruction, tests, image }: { instruction: string; tests: readonly string[]; image: ImagePlan },
): CarriedPaths {
  const named = absolutePaths(instruction).filter((path) =>
    !isUnder(path, CLOSED_FOLDERS) || isArtifact(path)
  );
  const others = [
    ...foldersOf(image),
    ...tests.flatMap(absolutePaths),
  ].filter((path) => !isUnder(path, [...CLOSED_FOLDERS, ...SYSTEM_FOLDERS]));
  const roots = [image.workdir, ...named, ...others].filter((path) => path !== "/");
  return {
    roots: outermost([...roots, ARTIFACTS]),
    named,
    namedFiles: [...new Set([...named.map(lastPart), ...instruction.match(FILE_NAME) ?? []])],
  };
}

/** Returns the folders that an image fills. */
function foldersOf({ steps }: ImagePlan): string[] {
  return steps.flatMap((step) => {
    if (step.kind === "folder") return [step.path];
    if (step.kind !== "files") return [];
    return step.files.map(({ path }) => `/${path.split("/")[1] ?? ""}`);
  }).filter((path) => path !== HARBOR_HOME);
}

function absolutePaths(text: string): string[] {
  return (text.match(ABSOLUTE) ?? []).map((path) => path.replace(/[./]+$/, "")).filter((path) =>
    path !== "" && !path.split("/").includes("..")
  );
}

function isArtifact(path: string): boolean {
  return isUnder(path, [ARTIFACTS]);
}

/** True if a path is one of the folders, or in one of the folders. */
export function isUnder(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`));
}

/** True if only the instruction can ask for a path. */
export function isSystemPath(path: string): boolean {
  return isUnder(path, SYSTEM_FOLDERS);
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Returns the paths that are in no other path. */
function outermost(paths: readonly string[]): string[] {
  const unique = [...new Set(paths)];
  return unique.filter((path) => !unique.some((other) => other !== path && isUnder(path, [other]))).sort();
}
