import { type Checkpoint, loadProfile, Sandbox, type Session } from "../../mod/sandbox.ts";
import type { Outcome } from "./native.ts";
import { LIST_PROGRAM } from "./native.ts";

/** A sandbox in which the lines of one tree run, each on the same state. */
export class TreeSandbox implements AsyncDisposable {
  readonly #sandbox: Sandbox;
  #session: Session;
  readonly #tree: string;
  readonly #cwd: string;
  #checkpoint: Checkpoint | undefined;

  private constructor(sandbox: Sandbox, session: Session, tree: string, cwd: string) {
    this.#sandbox = sandbox;
    this.#session = session;
    this.#tree = tree;
    this.#cwd = cwd;
  }

  static async start(tree: string, cwd: string): Promise<TreeSandbox> {
    const profile = await loadProfile("workspace");
    const sandbox = await Sandbox.start({
      profile: { ...profile, limits: { ...profile.limits, timeoutMs: 15_000 } },
    });
    const started = new TreeSandbox(sandbox, await sandbox.openSession(), tree, cwd);
    await started.#fill();
    return started;
  }

  async run(line: string): Promise<Outcome> {
    await this.#reset();
    const result = await this.#session.shell(line);
    const exitCode = "exitCode" in result ? result.exitCode : -1;
    const changes = await this.#session.exec("print(json.dumps(changes('', before)))");
    if (changes.status !== "ok") {
      return {
        stdout: result.stdout,
        stderr: `${result.status}; ${changes.status}`,
        complains: true,
        exitCode: -2,
        changes: {},
      };
    }
    return {
      stdout: result.stdout,
      stderr: result.stderr.slice(0, 2000),
      complains: result.stderr !== "",
      exitCode,
      changes: JSON.parse(changes.stdout),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sandbox[Symbol.asyncDispose]();
  }

  async #reset(): Promise<void> {
    try {
      if (this.#checkpoint) return await this.#session.restore(this.#checkpoint);
    } catch {
      // A session whose interpreter ended is opened again.
      this.#session = await this.#sandbox.openSession();
    }
    await this.#fill();
  }

  async #fill(): Promise<void> {
    const { stdout } = await new Deno.Command("tar", { args: ["cf", "-", "-C", this.#tree, "."] }).output();
    await this.#session.writeFile("tree.tar", stdout);
    const accessed = await accessTimeOf(this.#tree);
    const done = await this.#session.exec(
      `${LIST_PROGRAM}
import tarfile
with tarfile.open("tree.tar") as archive: archive.extractall("/", filter="fully_trusted")
os.remove("tree.tar")
os.makedirs(${JSON.stringify(this.#cwd)}, exist_ok=True)
before = entries("")
for path in before:
    changed = os.lstat(path).st_mtime
    if not os.path.islink(path): os.utime(path, (max(${accessed}, changed), changed))`,
    );
    if (done.status !== "ok") throw new Error(`Cannot fill the tree: ${done.status} ${JSON.stringify(done)}`);
    await this.#session.shell(`cd ${this.#cwd}; unset OLDPWD`); // which a new shell has not
    this.#checkpoint = await this.#session.checkpoint();
  }
}

/** Returns the time at which all files of a tree were read, in seconds. */
async function accessTimeOf(tree: string): Promise<number> {
  const { mtime } = await Deno.stat(`${tree}/../passwd`);
  return Math.floor((mtime?.getTime() ?? 0) / 1000);
}
