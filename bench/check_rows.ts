import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { childrenCpuMs } from "./processes.ts";
import type { Row } from "./row.ts";

const EMPTY = "export const answer: number = 42;\n";

const CLIENT = `import { PaddockClient } from "@paddock/paddock/client";

await using client = new PaddockClient({ url: "http://127.0.0.1:8471" });
await using lease = await client.acquire();
const result = await lease.session.exec("print(6 * 7)", { timeoutMs: 2_000 });
if (result.status === "ok") {
  const { stdout, value } = result;
  const text: string = stdout + (value ?? "");
  if (text.trim() !== "42") throw new Error(text);
}
`;

const ROOT = `import * as paddock from "@paddock/paddock";

await using pool = new paddock.SandboxPool({ profile: await paddock.loadProfile("python"), size: 1 });
await using env = new paddock.TransformedEnv(new paddock.ChatEnv(), [
  new paddock.PythonInterpreter({ pool }),
  new paddock.GradeEpisode({ grader: paddock.gsm8k() }),
]);
const task = { id: "product", query: "What is 6 times 7?", answer: "42" };
const { reward } = await paddock.rollout(env, paddock.scriptedPolicy(), task);
if (reward !== 1) throw new Error(String(reward));
`;

const RUNS = 3;

/** Measures the CPU time of `deno check` without its cache. Packages of npm are downloaded. */
export async function checkRows({ effort }: { effort: number }): Promise<Row[]> {
  const programs = [
    { what: "deno check: CPU of a program without imports", text: EMPTY },
    { what: "deno check: CPU of ten lines with ./client", text: CLIENT, bound: 3_000 },
    { what: "deno check: CPU of ten lines with .", text: ROOT, bound: 8_000 },
  ];
  const rows: Row[] = [];
  for (const { what, text, bound } of programs) {
    const times: number[] = [];
    // other programs on the machine only add CPU time, so the minimum is the figure
    for (let run = 0; run < RUNS * effort; run++) times.push(await checkCpuMs(text));
    rows.push({ what, value: Math.min(...times), unit: "ms", ...(bound !== undefined && { bound }) });
  }
  return rows;
}

/** Checks a program with an empty cache and returns the CPU time in milliseconds, user and system. */
async function checkCpuMs(text: string): Promise<number> {
  const folder = await Deno.makeTempDir();
  try {
    const cache = join(folder, "cache");
    await Deno.mkdir(cache);
    await Deno.symlink(await npmCache(), join(cache, "npm"));
    await Deno.writeTextFile(join(folder, "program.ts"), text);
    const config = fileURLToPath(new URL("../deno.json", import.meta.url));
    const before = await childrenCpuMs();
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", "--config", config, join(folder, "program.ts")],
      env: { DENO_DIR: cache },
    }).output();
    if (code !== 0) throw new Error(`Cannot check program: ${new TextDecoder().decode(stderr)}`);
    return await childrenCpuMs() - before;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function npmCache(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).npmCache;
}
