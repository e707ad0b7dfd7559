import { join } from "node:path";
import { DENO_VERSION } from "../../src/version.ts";

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/**
 * Replaces `npx -y deno@…` in tests by the running Deno. The command `paddock` runs in the folder of the test, so that
 * it writes no files into the project. The task `test` does nothing, since this test is part of it.
 */
const NPX = `#!/bin/sh
[ "$1 $2" = "-y deno@${DENO_VERSION}" ] || { echo "npx $*: unexpected arguments" >&2; exit 64; }
shift 2
case "$1 $2" in
  "task paddock") shift 2; exec "$DENO" run -A --quiet "$ROOT/src/cli.ts" "$@" ;;
  "run -A") [ "$3" = src/cli.ts ] && shift 3 && exec "$DENO" run -A --quiet "$ROOT/src/cli.ts" "$@"; exec "$DENO" "$@" ;;
  "task demo") exec "$DENO" task --quiet --cwd "$ROOT" demo ;;
  "task test") exec true ;;
  *) exec "$DENO" "$@" ;;
esac
`;

/** Replaces `python`, which starts a model server, in tests. A fake server runs in its place. */
const PYTHON = `#!/bin/sh
[ "$1 $2" = "-m sglang.launch_server" ]
`;

/** A folder in which the commands of the docs run as in a clone. */
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

  /** Environment in which commands find the replacements. */
  get env(): Record<string, string> {
    const modules = ["packaging/python", "tests/readme", "tests/readme/stand_ins"].map((name) =>
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

  /** Runs a program and returns its standard output. */
  async run(program: string, ...args: string[]): Promise<string> {
    const child = this.start(program, ...args);
    await child.stdin.close();
    const { code, stdout, stderr } = await child.output();
    const decoder = new TextDecoder();
    if (code === 0) return decoder.decode(stdout);
    const output = decoder.decode(stdout) + decoder.decode(stderr);
    throw new Error(`${program} ${args.join(" ")} ended with ${code}: ${output}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
