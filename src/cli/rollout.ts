import { Command, type CommanderError, Option } from "commander";
import { SandboxPool } from "../sandbox/pool.ts";
import { Interrupt } from "./interrupt.ts";
import { playTasks } from "./play_tasks.ts";
import {
  announceBuild,
  cacheDirectory,
  chosenProfile,
  flagsOf,
  profileOption,
  type SandboxFlags,
} from "./sandbox_flags.ts";
import { wholeNumber } from "./whole_number.ts";
import { writeText } from "./write_text.ts";

interface RolloutFlags extends SandboxFlags {
  tasks: string;
  limit?: number;
  concurrency?: number;
  poolSize: number;
  reset: "rewind" | "fresh";
  timeoutMs: number;
  maxTurns: number;
  json?: boolean;
  out?: string;
  show?: boolean;
}

const EXIT_CODES = `
Exit codes: 0 all episodes were played, 1 an episode failed at a boundary, 2 wrong usage or tasks that cannot
be read, 130 interrupted.`;

/** The command `rollout`: plays every task of a file of JSON lines in the sandbox, several at once. */
export function rolloutCommand(): Command {
  const poolSize = Math.max(2, navigator.hardwareConcurrency);
  return new Command("rollout")
    .description("Play every task of a file of JSON lines in the sandbox and score it")
    .requiredOption("--tasks <file>", "rows { query, answer?, replies?, reference? } or those of GSM8K")
    .option("--limit <n>", "play only the first n tasks", wholeNumber(1))
    .addOption(profileOption())
    .option("--concurrency <n>", "episodes at once (default: the pool's size)", wholeNumber(1))
    .option("--pool-size <n>", "interpreters at once", wholeNumber(1), poolSize)
    .addOption(
      new Option(
        "--reset <mode>",
        "how an interpreter is wiped between episodes, which one policy's trust to rewind",
      )
        .choices(["rewind", "fresh"]).default("rewind"),
    )
    .option("--timeout-ms <n>", "milliseconds that a block of code may take", wholeNumber(1), 2000)
    .option("--max-turns <n>", "replies that an episode may take", wholeNumber(1), 8)
    .addOption(
      new Option("--json", "one JSON line per episode on stdout, the table on stderr").conflicts("show"),
    )
    .option("--out <file>", "write the JSON lines to a file")
    .option("--show", "print each episode's messages")
    .addHelpText("after", EXIT_CODES)
    .exitOverride(exitOnUsage)
    .action(async (_flags: unknown, command: Command) => {
      Deno.exitCode = await runRollout(flagsOf<RolloutFlags>(command));
    });
}

async function runRollout(flags: RolloutFlags): Promise<number> {
  const { poolSize, concurrency = poolSize } = flags;
  await using pool = await poolOrComplaint(flags);
  if (pool === undefined) return 2;
  using interrupt = new Interrupt();
  const { signal } = interrupt;
  return await playTasks(pool, { ...flags, concurrency, stdout: Deno.stdout, stderr: Deno.stderr, signal });
}

async function poolOrComplaint(flags: RolloutFlags): Promise<SandboxPool | undefined> {
  try {
    return new SandboxPool({
      profile: await chosenProfile(flags),
      size: flags.poolSize,
      resetMode: flags.reset,
      cacheDir: cacheDirectory(flags.cacheDir),
      onBuild: announceBuild,
    });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    await writeText(Deno.stderr, `error: ${error.message}\n`);
    return undefined;
  }
}

function exitOnUsage(error: CommanderError): never {
  Deno.exit(error.exitCode === 0 ? 0 : 2);
}
