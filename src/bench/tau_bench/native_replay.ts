import { resolve } from "node:path";
import { z } from "zod";
import desk from "../../envs/tau_bench/guest/desk.py" with { type: "text" };
import standIns from "../../envs/tau_bench/guest/stand_ins.py" with { type: "text" };
import { readLines } from "../../read_lines.ts";
import native from "./native.py" with { type: "text" };

/** What came of doing a task's own actions. */
export interface Replayed {
  readonly index: number;
  readonly observations: readonly string[];
  /** tau-bench's hash of the data afterwards. */
  readonly hash: string;
}

const replayedSchema: z.ZodType<Replayed> = z.object({
  index: z.number(),
  observations: z.array(z.string()),
  hash: z.string(),
});

/** Longer than what any task prints. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Where a checkout is, and which of its tasks are played. */
export interface NativeReplayOptions {
  readonly path: string;
  readonly domain: string;
  readonly split: string;
}

/**
 * Replays each task of a split with a `python3` of the host, in no sandbox: what the sandbox is compared with.
 *
 * @throws {Error} when that Python fails.
 */
export async function* nativeReplay(
  python: string,
  { path, domain, split }: NativeReplayOptions,
): AsyncGenerator<Replayed> {
  const child = new Deno.Command(python, {
    args: ["-B", "-", resolve(path), domain, split],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const complaint = new Response(child.stderr).text();
  try {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(`${standIns}\n${desk}\n${native}`));
    await writer.close();
    for await (const line of readLines(child.stdout, { maxBytes: MAX_LINE_BYTES })) {
      if ("fault" in line) throw new Error(`Cannot replay ${domain}/${split} as ${line.fault}`);
      yield replayedSchema.parse(JSON.parse(line.text));
    }
    if ((await child.status).success) return;
    throw new Error(`Cannot replay ${domain}/${split} as ${python} must run it: ${(await complaint).trim()}`);
  } finally {
    kill(child);
    await Promise.all([child.status, complaint]);
  }
}

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // it has ended
  }
}
