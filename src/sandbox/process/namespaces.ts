import { type Layer, LAYER_PROGRAMS } from "../profile/schema.ts";

/** Options of {@linkcode confinedCommand}. */
export interface ConfinedCommandOptions {
  /** Layers to use. */
  layers: ReadonlySet<Layer>;
  /** Absolute paths that the command reads, including the command's own program. */
  paths: readonly string[];
  /** Shell script that sets resource limits and executes the script's arguments. */
  rlimits?: string | undefined;
  /** True if the host is root, which may take another user id. */
  isRoot: boolean;
}

/** User and group id of a confined process: `nobody`, which owns nothing. */
const NOBODY = 65534;

/** Flags of `unshare` for the namespaces that need nothing else. */
const NAMESPACE_FLAGS: ReadonlyMap<Layer, readonly string[]> = new Map([
  ["netNamespace", ["--net"]],
  ["ipcNamespace", ["--ipc"]],
  ["utsNamespace", ["--uts"]],
  ["pidNamespace", ["--pid", "--fork", "--kill-child"]],
]);

/**
 * Returns the command line that runs a command behind layers of the operating system, by the programs of
 * util-linux or by bubblewrap. Each program executes the next one, so that the started process is the command
 * itself; with a PID namespace the started process is the parent of the command and ends with the command, by
 * the same signal or code.
 */
export function confinedCommand(command: readonly string[], options: ConfinedCommandOptions): string[] {
  const { layers, paths } = options;
  const inner = [...setprivPrefix(layers, { dropsCapabilities: layers.has("capabilities") }), ...command];
  if (layers.has("bubblewrap")) {
    return [...shell(options.rlimits), ...setprivPrefix(layers), ...bubblewrapPrefix(paths), ...command];
  }
  if (!layers.has("userNamespace")) return [...shell(options.rlimits), ...inner];
  if (!layers.has("mountNamespace")) {
    const outer = [...shell(options.rlimits), ...setprivPrefix(layers)];
    return [...outer, ...userNamespacePrefix(layers, namespaceFlags(layers)), ...inner];
  }
  return [...setprivPrefix(layers), ...ownRootPrefix(options), ...inner];
}

/** Returns the prefix of a command that cannot gain privileges and ends with the parent process. */
export function setprivPrefix(
  layers: ReadonlySet<Layer>,
  options: { dropsCapabilities?: boolean } = {},
): string[] {
  const flags = [
    ...(options.dropsCapabilities ? ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"] : []),
    ...(layers.has("noNewPrivs") ? ["--no-new-privs"] : []),
    ...(layers.has("parentDeath") ? ["--pdeathsig", "KILL"] : []),
  ];
  return flags.length === 0 ? [] : [LAYER_PROGRAMS.noNewPrivs, ...flags, "--"];
}

/** A shell script that executes the script's arguments. */
const EXECUTE = 'exec "$@"';

function shell(script: string | undefined): string[] {
  return script === undefined ? [] : [LAYER_PROGRAMS.rlimits, "-c", script, "sh"];
}

function namespaceFlags(layers: ReadonlySet<Layer>): string[] {
  return [...NAMESPACE_FLAGS].flatMap(([layer, flags]) => layers.has(layer) ? flags : []);
}

/**
 * Returns the prefix of a command that runs as `nobody` in its own user namespace. There the command keeps
 * all capabilities until `setpriv` has dropped them, with the bounding set that only a privileged process can
 * empty.
 */
function userNamespacePrefix(layers: ReadonlySet<Layer>, flags: readonly string[]): string[] {
  const ids = [`--map-user=${NOBODY}`, `--map-group=${NOBODY}`];
  const capabilities = layers.has("capabilities") ? ["--keep-caps"] : [];
  return [LAYER_PROGRAMS.userNamespace, ...ids, ...capabilities, ...flags, "--"];
}

/**
 * Directory over which the root of a sandbox is built, in its mount namespace only. No file that it reads is
 * there.
 */
const BUILD_FOLDER = "/sys";
const ROOT = `${BUILD_FOLDER}/sandbox`;

/** Directories of the shared libraries that Deno needs. Not every system has each. */
const LIBRARY_FOLDERS = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/**
 * Returns the prefix of a command whose root contains only the libraries and the given paths, read-only. The
 * mounts belong to an outer user namespace, over which the command has no power. If the host is root, it
 * makes the mounts itself and takes another user id, as files could otherwise be changed by their owner.
 */
function ownRootPrefix({ layers, paths, rlimits = EXECUTE, isRoot }: ConfinedCommandOptions): string[] {
  const takesOtherUser = isRoot && layers.has("unprivilegedUser");
  const user = takesOtherUser ? [] : ["--user", "--map-root-user"];
  const other = takesOtherUser
    ? [LAYER_PROGRAMS.noNewPrivs, `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"]
    : [];
  return [
    ...[LAYER_PROGRAMS.userNamespace, ...user, "--mount", ...namespaceFlags(layers), "--"],
    ...shell(`${mountScript([...paths, LAYER_PROGRAMS.noNewPrivs])} && ${rlimits}`),
    ...other,
    ...userNamespacePrefix(layers, [`--root=${ROOT}`]),
  ];
}

/**
 * Returns a shell script that builds the root of a sandbox. Deno needs no /proc but the link by which Deno
 * looks up its own path, and no /dev and no /tmp. The mounts are listed in a file, as a single `mount` costs as
 * much as all mounts.
 */
function mountScript(paths: readonly string[]): string {
  const [program = ""] = paths;
  const unique = [...new Set(paths)];
  const list = unique.map(quote).join(" ");
  const bind = (path: string) =>
    `${escapeField(path)} ${ROOT}${escapeField(path)} none bind,ro,nosuid,nodev 0 0`;
  return [
    `PATH=/usr/bin:/bin`,
    `umask 022`,
    `mount -t tmpfs -o mode=755,size=1m,nosuid,nodev,noexec none ${BUILD_FOLDER}`,
    `folders() { n=$#; for p; do [ -d "$p" ] || p="\${p%/*}"; set -- "$@" "${ROOT}$p"; done; shift "$n"; mkdir -p "$@"; }`,
    `libraries=$(for p in ${LIBRARY_FOLDERS.join(" ")}; do [ ! -d $p ] || echo $p; done)`,
    `folders $libraries ${list} /proc/self/exe`,
    `for p in ${list}; do [ -d "$p" ] || : > "${ROOT}$p" || exit; done`,
    `ln -s ${quote(program)} ${ROOT}/proc/self/exe`,
    `{ echo '${ROOT} ${ROOT} none bind,ro 0 0'; ` +
    `for p in $libraries; do echo "$p ${ROOT}$p none bind,ro,nosuid,nodev 0 0"; done; ` +
    `printf '%s\\n' ${unique.map((path) => quote(bind(path))).join(" ")}; } > ${BUILD_FOLDER}/fstab`,
    `mount -a -T ${BUILD_FOLDER}/fstab`,
  ].join(" && ");
}

/** Returns a text as a word of a shell script. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns a path as a field of a file of mounts. */
function escapeField(path: string): string {
  return path.replace(/[\s\\]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

/**
 * Returns the prefix of a command that runs in separate namespaces, as user `nobody`, without a network and
 * without capabilities. Its root is read-only and contains the libraries, the given paths, and a /proc of its
 * own processes, without which Deno panics when looking up its own path. Deno needs no /dev and no /tmp.
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
    String(NOBODY),
    "--gid",
    String(NOBODY),
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
