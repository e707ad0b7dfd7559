import { join } from "node:path";
import { ROOT, run } from "../../packaging/sources.ts";
import type { Suite } from "./suite.ts";

/** Folder of the environments, checkouts and logs. Git ignores it. */
export const HOME: string = join(ROOT, ".paddock", "trainers");
/** Folder of the suites. */
export const SUITES: string = join(ROOT, "tests", "trainers");

/** Creates the virtual environment of a suite from its lock file. Returns its folder. */
export async function createEnvironment(name: string, suite: Suite): Promise<string> {
  const folder = join(HOME, name);
  const python = await installLocked(folder, {
    python: suite.python,
    lock: join(SUITES, `${name}_checks`, "requirements.txt"),
  });
  if (suite.editable) {
    const own = join(ROOT, "packaging", "python");
    await run(await installUv(), [
      "pip",
      "install",
      "--quiet",
      "--no-deps",
      "--python",
      python,
      "--editable",
      own,
    ]);
  }
  return folder;
}

/** Creates a virtual environment from a lock file with hashes. Returns the path of its Python. */
export async function installLocked(
  folder: string,
  { python: version, lock }: { python: string; lock: string },
): Promise<string> {
  const uv = await installUv();
  const python = join(folder, "bin", "python");
  await run(uv, ["venv", "--quiet", "--allow-existing", "--python", version, folder]);
  await run(uv, ["pip", "sync", "--quiet", "--require-hashes", "--python", python, lock]);
  return python;
}

/** Installs uv with pip, by its hash. Returns its path. */
async function installUv(): Promise<string> {
  const folder = join(HOME, "uv");
  const python = join(folder, "bin", "python");
  await run("python3", ["-m", "venv", folder]);
  const lock = join(SUITES, "uv.txt");
  await run(python, ["-m", "pip", "install", "--quiet", "--require-hashes", "--requirement", lock]);
  return join(folder, "bin", "uv");
}

/** Fetches the checkouts of a suite with git. Returns the variables that name their folders. */
export async function fetchCheckouts({ checkouts }: Suite): Promise<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const [name, { repository, commit }] of Object.entries(checkouts)) {
    const folder = join(HOME, "checkouts", `${name}-${commit.slice(0, 12)}`);
    const git = (...args: string[]) => run("git", ["-C", folder, ...args]);
    await Deno.mkdir(folder, { recursive: true });
    await git("init", "--quiet");
    await git("rev-parse", "--quiet", "--verify", "HEAD").catch(() =>
      git("fetch", "--quiet", "--depth", "1", repository, commit)
    );
    await git("checkout", "--quiet", "--force", commit);
    variables[`CHECKOUT_${name.toUpperCase()}`] = folder;
  }
  return variables;
}

/** Returns the installed versions of all packages, one a line. */
export async function listVersions(folder: string): Promise<string> {
  return await run(join(HOME, "uv", "bin", "uv"), [
    "pip",
    "freeze",
    "--quiet",
    "--python",
    join(folder, "bin", "python"),
  ]);
}
