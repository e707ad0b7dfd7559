import { dirname, join } from "node:path";
import { type ScriptOutcome, toScriptOutcome } from "../../src/server/peers/script.ts";
import type { SessionPool } from "../../src/sandbox/contract/pool.ts";
import type { ProgramCase } from "./programs.ts";

/** What a program leaves: its exit code is `null` after a timeout. */
export type Outcome = ScriptOutcome;

/** Options of a run. */
export interface RunOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Runs a program with an interpreter of the host, in a folder of its own that is removed at the end. */
export async function runNatively(
  python: string,
  program: ProgramCase,
  { timeoutMs, signal, hashSeed }: RunOptions & { readonly hashSeed: number },
): Promise<Outcome> {
  const folder = await Deno.makeTempDir({ prefix: "compare-" });
  try {
    const files = { ...program.files, "main.py": new TextEncoder().encode(program.code) };
    for (const [path, contents] of Object.entries(files)) {
      await Deno.mkdir(dirname(join(folder, path)), { recursive: true });
      await Deno.writeFile(join(folder, path), contents);
    }
    const timeout = AbortSignal.timeout(timeoutMs);
    const child = new Deno.Command(python, {
      args: ["main.py"],
      cwd: folder,
      env: { PYTHONHASHSEED: `${hashSeed}`, PYTHONDONTWRITEBYTECODE: "1", NO_COLOR: "1" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      signal: AbortSignal.any([timeout, signal]),
    }).spawn();
    const [, { code, stdout, stderr }] = await Promise.all([
      // A program may end before it has read its input.
      new Blob([program.stdin]).stream().pipeTo(child.stdin).catch(() => {}),
      child.output(),
    ]);
    signal.throwIfAborted();
    const decoder = new TextDecoder();
    const exitCode = timeout.aborted ? null : code;
    return { stdout: decoder.decode(stdout), stderr: decoder.decode(stderr), exitCode };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs a program in a session of the pool, as `/run_code` does. */
export async function runInSession(
  pool: SessionPool,
  program: ProgramCase,
  { timeoutMs, signal }: RunOptions,
): Promise<Outcome> {
  await using lease = await pool.acquire({ signal });
  const { code, stdin, files } = program;
  const result = await lease.session.exec(code, { argv: ["main.py"], stdin, files, timeoutMs, signal });
  // A program that calls os._exit ends its interpreter with a code.
  const ended = result.status === "crashed" ? result.exitCode : undefined;
  const outcome = toScriptOutcome(result);
  return ended === undefined ? outcome : { ...outcome, stderr: result.stderr, exitCode: ended };
}
