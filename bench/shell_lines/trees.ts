import { checkOut } from "./sources.ts";

/** Version of Django's source distribution on PyPI. The lines of trajectories about Django read its files. */
const DJANGO_VERSION = "5.0.14";
/** Folders of the root that a tree may have. */
const ROOTS = ["testbed", "system", "workspace", "backup"];

/** Files of `/etc` that bash sees: owners of files, and what lists folders by name. */
export const SYSTEM_FILES = ["passwd", "group", "ld.so.preload", "sorted_readdir.so"];

/** Working directory of the lines of a tree. */
export function workingDirectory(tree: string): string {
  if (tree === "testbed2") return "/system";
  if (tree === "testbed3") return "/workspace";
  return "/testbed";
}

/** Makes the named trees of files in which lines run. Each is a folder with those folders of the root that it fills. */
export async function makeTrees(checkouts: string, to: string, names: ReadonlySet<string>): Promise<void> {
  for (const tree of names) {
    for (const root of ROOTS) await Deno.mkdir(`${to}/${tree}/${root}`, { recursive: true });
  }
  await Deno.writeTextFile(`${to}/passwd`, "pyodide:x:0:0::/home/pyodide:/bin/bash\n");
  await Deno.writeTextFile(`${to}/group`, "pyodide:x:0:\n");
  await Deno.writeTextFile(`${to}/ld.so.preload`, "/etc/sorted_readdir.so\n");
  await compileSortedReaddir(`${to}/sorted_readdir.so`);
  const scripts = await checkOut(checkouts, "princeton-nlp/intercode", ["docker/bash_scripts"]);
  for (const number of [1, 2, 3, 4].filter((each) => names.has(`testbed${each}`))) {
    const script = await Deno.readTextFile(`${scripts}/docker/bash_scripts/setup_nl2b_fs_${number}.sh`);
    await runConfined(script, `${to}/testbed${number}`, { cwd: "/" }).output();
  }
  await Deno.remove(scripts, { recursive: true });
  if (names.has("django")) await makeDjango(`${to}/django/testbed`);
  await dropFractions(to);
}

async function compileSortedReaddir(to: string): Promise<void> {
  const source = new URL("./sorted_readdir.c", import.meta.url).pathname;
  const { success, stderr } = await new Deno.Command("cc", {
    args: ["-shared", "-fPIC", "-O1", "-o", to, source],
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`Cannot compile '${source}': ${new TextDecoder().decode(stderr)}`);
}

/** Sets the times of files to whole seconds, which an archive in the sandbox has too. */
async function dropFractions(folder: string): Promise<void> {
  const program = `
import os, sys
for folder, folders, files in os.walk(sys.argv[1]):
    for name in folders + files:
        path = os.path.join(folder, name)
        seconds = int(os.lstat(path).st_mtime)
        os.utime(path, (seconds, seconds), follow_symlinks=False)`;
  await new Deno.Command("/usr/bin/python3", { args: ["-c", program, folder] }).output();
}

async function makeDjango(to: string): Promise<void> {
  const folder = await Deno.makeTempDir();
  const python = `python3 -m pip download -q --no-deps --no-binary :all: -d "$1" django==${DJANGO_VERSION}`;
  const leftOut = [
    "*/locale/*",
    "*/data/*",
    "*/static/*",
    "*.mo",
    "*/gis_tests/*",
    "*/gis/*",
    "*/docs/*",
    "*/js_tests/*",
    "*.js",
    "*.css",
    "*.html",
  ];
  const tar = `tar xzf "$1"/[Dd]jango-*.tar.gz --no-same-owner -C "$2" --strip-components=1 ${
    leftOut.map((pattern) => `--exclude='${pattern}'`).join(" ")
  }`;
  const { stderr, success } = await new Deno.Command("sh", {
    args: ["-c", `${python} && ${tar}`, "sh", folder, to],
    stderr: "piped",
  }).output();
  await Deno.remove(folder, { recursive: true });
  if (!success) throw new Error(`Cannot make the tree of Django: ${new TextDecoder().decode(stderr)}`);
}

/** A command in bash, which sees the programs of the system, a tree and an empty home, and no network. */
export function runConfined(
  script: string,
  tree: string,
  { cwd, home, signal }: { cwd: string; home?: string; signal?: AbortSignal },
): Deno.Command {
  const binds = ["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives"];
  const links = ["bin", "lib", "lib64", "sbin"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]);
  const systemFiles = SYSTEM_FILES.flatMap((name) => ["--ro-bind", `${tree}/../${name}`, `/etc/${name}`]);
  const folders = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"];
  const roots = ROOTS.flatMap((root) => ["--bind", `${tree}/${root}`, `/${root}`]);
  const homes = home ? ["--bind", home, "/home/pyodide"] : ["--dir", "/home/pyodide"];
  const limits = ["--unshare-all", "--die-with-parent", "--new-session", "--chdir", cwd, "--clearenv"];
  const env = {
    HOME: "/home/pyodide",
    USER: "pyodide",
    LOGNAME: "pyodide",
    SHELL: "/bin/bash",
    LANG: "C.UTF-8",
    TERM: "dumb",
    PATH: "/usr/bin:/bin",
  };
  const variables = Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
  return new Deno.Command("bwrap", {
    args: [
      ...binds,
      ...systemFiles,
      ...links,
      ...folders,
      ...roots,
      ...homes,
      ...limits,
      ...variables,
      "bash",
      "-c",
      script,
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...(signal && { signal }),
  });
}
