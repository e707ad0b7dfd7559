// deno-lint-ignore-file no-console -- a command prints
/**
 * Runs random programs in several cold processes each, and compares the digests: `deno task exact`. Between the runs the load
 * of the machine may differ, for which this program starts processes of its own that compute for a bounded time.
 */
import { Command } from "commander";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { exactProgram, FAMILY_NAMES } from "./programs.ts";
import { exactProfile, LEASE, runProgram } from "./sessions.ts";

/** A process of the load ends by itself after this time, also if this program is killed. */
const LOAD_SECONDS = 3600;
const SPIN = `const end = Date.now() + ${LOAD_SECONDS * 1000}; while (Date.now() < end);`;

interface Flags {
  programs: string;
  first: string;
  runs: string;
  load: string;
}

/** A result, as far as it is compared. */
interface Compared {
  readonly digest: string | undefined;
  readonly inexact: boolean;
  readonly status: string;
  readonly stdout: string;
}

/** Starts processes that compute, at the lowest priority but one. Disposing ends them. */
function startLoad(count: number): Disposable {
  const children = Array.from({ length: count }, () =>
    new Deno.Command(Deno.execPath(), {
      args: ["eval", SPIN],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn());
  return {
    [Symbol.dispose]() {
      for (const child of children) child.kill("SIGKILL");
    },
  };
}

async function runCold(seed: number): Promise<Compared> {
  await using sandbox = await Sandbox.start({ profile: await exactProfile() });
  const session = await sandbox.openSession(LEASE);
  const { digest, inexact = false, status, stdout } = await runProgram(session, seed);
  return { digest, inexact, status, stdout };
}

async function main({ programs, first, runs, load }: Flags): Promise<number> {
  const counts = { programs: 0, different: 0, inexact: 0, notOk: 0 };
  for (let seed = Number(first); seed < Number(first) + Number(programs); seed++) {
    const results: Compared[] = [];
    for (let run = 0; run < Number(runs); run++) {
      using _load = startLoad(run % 2 === 1 ? Number(load) : 0);
      results.push(await runCold(seed));
    }
    const exact = results.filter(({ inexact }) => !inexact);
    const isSame = new Set(exact.map(({ digest }) => digest)).size <= 1;
    counts.programs++;
    if (!isSame) counts.different++;
    if (exact.length < results.length) counts.inexact++;
    if (results.some(({ status }) => status !== "ok")) counts.notOk++;
    const { families } = exactProgram(seed);
    const statuses = [...new Set(results.map(({ status }) => status))];
    console.log(`${seed}\t${isSame ? "same" : "DIFFERENT"}\t${statuses}\t${families}`);
    if (!isSame) {
      for (const { digest, stdout } of exact) console.log(`  ${digest}\t${stdout.slice(0, 600)}`);
    }
  }
  console.log(JSON.stringify({ ...counts, families: FAMILY_NAMES.length }));
  return counts.different > 0 ? 1 : 0;
}

await new Command("exact")
  .description("Run random programs in cold processes, and compare the digests of their results")
  .option("--programs <n>", "number of programs", "1000")
  .option("--first <n>", "seed of the first program", "1")
  .option("--runs <n>", "cold processes of each program", "3")
  .option("--load <n>", "processes that compute beside every second run", "20")
  .action(async (flags: Flags) => {
    Deno.exitCode = await main(flags);
  })
  .parseAsync(Deno.args, { from: "user" });
