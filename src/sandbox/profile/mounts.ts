import * as z from "zod";
import { string } from "./checks.ts";

/** A file or directory of the host that the guest can read. */
export interface Mount {
  /** Absolute, normalized path in the guest. */
  readonly guestPath: string;
  /** Absolute path on the host. */
  readonly hostPath: string;
}

/** Returns mounts in the form of a `boot` frame. */
export function bootMounts(mounts: readonly Mount[]): { guest: string; host: string }[] {
  return mounts.map(({ guestPath, hostPath }) => ({ guest: guestPath, host: hostPath }));
}

/** Directories of the interpreter: nothing may be mounted in them. */
const RESERVED = ["/lib", "/dev", "/proc", "/tmp"];

/** Directories that contain a directory of the interpreter: nothing may be mounted over them. */
const UNCOVERABLE = ["/", "/home", "/home/pyodide"];

/** Schema of `{ guest path: host path }`. Its result is a list with normalized guest paths. */
export const mountsSchema: z.core.$ZodType<readonly Mount[]> = z.record(
  z.string(),
  // Deno splits the paths of `--allow-read` at commas and has no way to escape a comma.
  string("the path of a file or folder, without a comma", (path) => /^[^,\0]+$/.test(path)),
  { error: "must be an object of guest paths and host paths" },
).superRefine((mounts, context) => {
  const seen: string[] = [];
  for (const [guest, host] of Object.entries(mounts)) {
    const issue = pathIssue(guest) ?? clashIssue(guest, seen);
    if (issue === undefined) seen.push(guest);
    else context.addIssue({ code: "custom", path: [guest], message: issue, input: host });
  }
}).transform((mounts) =>
  Object.entries(mounts).map(([guest, hostPath]) => ({ guestPath: normalize(guest), hostPath }))
);

function normalize(path: string): string {
  return "/" + parts(path).join("/");
}

function parts(path: string): string[] {
  return path.normalize("NFC").split("/").filter((part) => part !== "" && part !== ".");
}

/** Returns a form that is equal for two paths that a reader or a host may not distinguish. */
function foldCase(path: string): string {
  return normalize(path).toUpperCase().toLowerCase().normalize("NFC");
}

function pathIssue(path: string): string | undefined {
  if (!path.startsWith("/")) return "must have an absolute guest path";
  if (!path.isWellFormed() || /[\p{Cc}\\]/u.test(path)) {
    return "must have a guest path of well-formed text without control characters and backslashes";
  }
  if (parts(path).includes("..")) return "must have a guest path without '..'";
  const plain = foldCase(path);
  if (UNCOVERABLE.includes(plain)) {
    return `must have a guest path that does not cover the interpreter's ${plain}`;
  }
  const reserved = RESERVED.find((folder) => isWithin(plain, folder));
  return reserved && `must have a guest path outside the interpreter's ${reserved}`;
}

function clashIssue(path: string, seen: readonly string[]): string | undefined {
  const plain = foldCase(path);
  const other = seen.find((known) => isWithin(plain, foldCase(known)) || isWithin(foldCase(known), plain));
  if (other === undefined) return undefined;
  if (foldCase(other) === plain) return `must have a unique guest path: '${other}' is the same`;
  return `must have a guest path that neither lies in another one nor contains it: current value clashes with '${other}'`;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
