import { join } from "node:path";

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/**
 * What `npx -y deno@2.9.6` is in a test: the Deno that runs it. The task `paddock` runs where the test is, so that
 * what it writes is not written into the project; `test` is the suite that the test is part of.
 */
const NPX = `#!/bin/sh
[ "$1 $2" = "-y deno@2.9.6" ] || { echo "npx $*: not what the README says" >&2; exit 64; }
shift 2
case "$1 $2" in
  "task paddock") shift 2; exec "$DENO" run -A --quiet "$ROOT/src/cli.ts" "$@" ;;
  "task demo") exec "$DENO" task --quiet --cwd "$ROOT" demo ;;
  "task test") exec true ;;
  *) exec "$DENO" "$@" ;;
esac
`;

/** What `python` is in a test: the server of a model, which a fake one stands in for. */
const PYTHON = `#!/bin/sh
[ "$1 $2" = "-m sglang.launch_server" ]
`;

/** A folder that looks like a clone to what the README has its reader type. */
export class Clone implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<Clone> {
    const clone = new Clone(await Deno.makeTempDir());
    await Deno.mkdir(join(clone.path, "bin"));
    for (const [name, text] of [["npx", NPX], ["python", PYTHON]] as const) {
      await Deno.writeTextFile(join(clone.path, "bin", name), text, { mode: 0o755 });
    }
    await Deno.symlink(join(ROOT, "examples"), join(clone.path, "examples"));
    return clone;
  }

  /** Writes a file. */
  async write(name: string, text: string): Promise<string> {
    const path = join(this.path, name);
    await Deno.mkdir(join(path, ".."), { recursive: true });
    await Deno.writeTextFile(path, text);
    return path;
  }

  /** The environment in which commands find what stands in for others. */
  get env(): Record<string, string> {
    const modules = ["examples/python", "tests/readme", "tests/readme/stand_ins"].map((name) =>
      join(ROOT, name)
    );
    return {
      PATH: `${join(this.path, "bin")}:${Deno.env.get("PATH")}`,
      PYTHONPATH: [this.path, ...modules].join(":"),
      PYTHONDONTWRITEBYTECODE: "1",
      DENO: Deno.execPath(),
      NO_COLOR: "1",
      ROOT,
    };
  }

  /** Starts a program. */
  start(program: string, ...args: string[]): Deno.ChildProcess {
    const { path: cwd, env } = this;
    return new Deno.Command(program, { args, cwd, env, stdin: "piped", stdout: "piped", stderr: "piped" })
      .spawn();
  }

  /** Runs a program to its end, and gives what it printed. */
  async run(program: string, ...args: string[]): Promise<string> {
    const child = this.start(program, ...args);
    await child.stdin.close();
    const { code, stdout, stderr } = await child.output();
    const decoder = new TextDecoder();
    if (code === 0) return decoder.decode(stdout);
    throw new Error(`${program} ${args.join(" ")} ended with ${code}: ${decoder.decode(stderr)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
