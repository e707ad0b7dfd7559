import { z } from "zod";
import { string } from "./checks.ts";

/** A file or folder of the host that the guest can read. */
export interface Mount {
  /** Where the guest sees it: absolute and normalised. */
  readonly guestPath: string;
  /** Where it is on the host: absolute. */
  readonly hostPath: string;
}

/** Mounts as a child is told them. */
export function bootMounts(mounts: readonly Mount[]): { guest: string; host: string }[] {
  return mounts.map(({ guestPath, hostPath }) => ({ guest: guestPath, host: hostPath }));
}

/** Folders that belong to the interpreter: nothing is mounted in them. */
const CLOSED = ["/lib", "/dev", "/proc", "/tmp"];

/** Folders that hold one of the interpreter's: nothing is mounted over them. */
const KEPT = ["/", "/home", "/home/pyodide"];

/** Checks `{ guest path: host path }` and lists it, guest paths normalised. */
export const mountsSchema: z.ZodType<readonly Mount[]> = z.record(
  z.string(),
  // Deno splits the paths of `--allow-read` at commas and knows no way to write one.
  string("the path of a file or folder, without a comma", (path) => /^[^,\0]+$/.test(path)),
  { error: "must be an object of guest paths and host paths" },
).superRefine((mounts, context) => {
  const seen: string[] = [];
  for (const [guest, host] of Object.entries(mounts)) {
    const fault = pathFault(guest) ?? clash(guest, seen);
    if (fault === undefined) seen.push(guest);
    else context.addIssue({ code: "custom", path: [guest], message: fault, input: host });
  }
}).transform((mounts) =>
  Object.entries(mounts).map(([guest, hostPath]) => ({ guestPath: normalised(guest), hostPath }))
);

function normalised(path: string): string {
  return "/" + parts(path).join("/");
}

function parts(path: string): string[] {
  return path.normalize("NFC").split("/").filter((part) => part !== "" && part !== ".");
}

/** The form in which two paths that a reader or a host could take for one another are equal. */
function folded(path: string): string {
  return normalised(path).toUpperCase().toLowerCase().normalize("NFC");
}

function pathFault(path: string): string | undefined {
  if (!path.startsWith("/")) return "must have an absolute guest path";
  if (!path.isWellFormed() || /[\p{Cc}\\]/u.test(path)) {
    return "must have a guest path of well-formed text without control characters and backslashes";
  }
  if (parts(path).includes("..")) return "must have a guest path without '..'";
  const plain = folded(path);
  if (KEPT.includes(plain)) {
    return `must have a guest path that does not cover the interpreter's own ${plain}`;
  }
  const closed = CLOSED.find((folder) => isWithin(plain, folder));
  return closed && `must have a guest path outside of the interpreter's own ${closed}`;
}

function clash(path: string, seen: readonly string[]): string | undefined {
  const plain = folded(path);
  const other = seen.find((known) => isWithin(plain, folded(known)) || isWithin(folded(known), plain));
  if (other === undefined) return undefined;
  if (folded(other) === plain) return `must have a guest path of its own: '${other}' is the same`;
  return `must have a guest path neither in nor around another: there is '${other}'`;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
