import { LAYER_PROGRAMS } from "./layer.ts";

/** Where the loader finds the libraries that Deno is linked to; not every system has each. */
const LIBRARY_FOLDERS = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/**
 * Runs what follows in namespaces of its own, as nobody, without a network and without capabilities, on a
 * read-only root that holds the libraries, the given paths, and a /proc that shows these processes alone, without
 * which Deno panics when asked for its own path. It needs no /dev and no /tmp.
 */
export function bubblewrapPrefix(paths: readonly string[]): string[] {
  return [
    LAYER_PROGRAMS.bubblewrap,
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--uid",
    "65534",
    "--gid",
    "65534",
    ...LIBRARY_FOLDERS.flatMap((folder) => ["--ro-bind-try", folder, folder]),
    ...paths.flatMap((path) => ["--ro-bind", path, path]),
    "--proc",
    "/proc",
    "--remount-ro",
    "/",
    "--chdir",
    "/",
    "--",
  ];
}
