import { Command, Option } from "commander";
import type { Policy } from "../policy/policy.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { ENVS } from "./envs.ts";
import { GRADERS } from "./graders.ts";
import { lazyPool } from "./lazy_pool.ts";
import { named, namesText } from "./named.ts";
import { numberAtLeast } from "./number_at_least.ts";
import { playTasks } from "./play_tasks.ts";
import { type ChosenPolicy, chosenPolicy, POLICIES } from "./policies.ts";
import { requireReadable } from "./require_readable.ts";
import { runCommand } from "./run_command.ts";
import { chosenProfile, flagsOf, profileOption, type SandboxFlags } from "./sandbox_flags.ts";
import { Summary } from "./summary.ts";
import { terminalColumns, wantsColour } from "./terminal.ts";
import { TrajectoryFile } from "./trajectory_file.ts";
import { UsageError } from "./usage_error.ts";
import { wholeNumber } from "./whole_number.ts";

interface RolloutFlags extends SandboxFlags {
  tasks: string;
  limit?: number;
  env: string;
  policy: string;
  grader: string;
  model?: string;
  temperature?: number;
  maxTokens?: number;
  requestTimeoutMs?: number;
  system?: string;
  n: number;
  seed?: number;
  concurrency?: number;
  poolSize?: number;
  reset: "rewind" | "fresh";
  timeoutMs: number;
  maxTurns: number;
  json?: boolean;
  out?: string;
  resume?: boolean;
  force?: boolean;
  show?: boolean;
  showFirst?: number;
}

const NOTES = `
Examples:
  paddock rollout --tasks examples/tasks.jsonl --show
  paddock rollout --tasks test.jsonl --policy openai:http://localhost:8000 --model qwen --n 8 \\
    --concurrency 32 --out runs/a.jsonl
  paddock rollout … --out runs/a.jsonl --resume

Ctrl-C ends the running episodes and keeps what is written; --resume goes on there, and plays episodes again
that failed at a boundary.

Exit codes: 0 all episodes were played, 1 an episode failed at a boundary, 2 wrong usage or tasks that cannot
be read, 130 interrupted.`;

/** Episodes at once when a server answers, unless asked for otherwise. */
const REMOTE_CONCURRENCY = 8;

/** The command `rollout`: plays every task of a file of JSON lines, several at once. */
export function rolloutCommand(): Command {
  return new Command("rollout")
    .description("Play every task of a file of JSON lines in the sandbox and score it")
    .requiredOption("--tasks <file>", "rows { query, answer?, replies?, reference? } or those of GSM8K")
    .option("--limit <n>", "play only the first n tasks", wholeNumber(1))
    .option("--env <name>", "what an episode is", "python")
    .option("--policy <name>", "who answers", "scripted")
    .option("--grader <name>", "what scores an episode; none leaves it unscored", "number_match")
    .option("--model <name>", "the model that the server is asked for")
    .option("--temperature <t>", "of sampling (default: the server's)", numberAtLeast(0))
    .option("--max-tokens <n>", "of one reply (default: the server's)", wholeNumber(1))
    .option("--request-timeout-ms <n>", "milliseconds that a reply may take", wholeNumber(1), 300_000)
    .option("--system <text>", "a system message before each query")
    .option("--n <n>", "episodes of each task", wholeNumber(1), 1)
    .option("--seed <n>", "make the chance of episodes reproducible", wholeNumber(0))
    .addOption(profileOption())
    .option(
      "--concurrency <n>",
      "episodes at once (default: 8 with a server, else one per core)",
      wholeNumber(1),
    )
    .option("--pool-size <n>", "interpreters at once (default: those that are of use)", wholeNumber(1))
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
      new Option("--json", "one JSON line per episode on stdout, the table on stderr").conflicts([
        "show",
        "showFirst",
      ]),
    )
    .option("--out <file>", "write the JSON lines to a file")
    .addOption(new Option("--resume", "go on with the file of --out").conflicts("force"))
    .option("--force", "throw away what the file of --out holds")
    .option("--show", "print each episode's messages")
    .option("--show-first <n>", "print the messages of the first n episodes", wholeNumber(1))
    .addHelpText("after", namesText("Envs", ENVS) + namesText("Policies", POLICIES))
    .addHelpText("after", namesText("Graders", GRADERS) + NOTES)
    .action(async (_flags: unknown, command: Command) => {
      await runCommand((signal) => runRollout(flagsOf<RolloutFlags>(command), signal));
    });
}

async function runRollout(flags: RolloutFlags, signal: AbortSignal): Promise<number> {
  if (flags.resume && flags.out === undefined) {
    throw new UsageError("Cannot resume as there must be a file to go on with: give --out FILE");
  }
  const { tasks, limit, n: samples, seed, maxTurns, timeoutMs, json } = flags;
  const show = flags.showFirst ?? (flags.show ? Infinity : undefined);
  const kind = named(ENVS, flags.env, "env");
  const graderKind = flags.grader === "none" ? undefined : named(GRADERS, flags.grader, "grader");
  const chosen = await policyOf(flags);
  const profile = await chosenProfile(flags);
  const { concurrency, poolSize } = sizesOf(flags, chosen);
  await requireReadable(tasks, { mayBeFolder: true });
  const summary = new Summary({ samples });
  using out = await outOf(flags, summary, chosen.policy);
  await using stack = new AsyncDisposableStack();
  const interpreters = { profile, size: poolSize, cacheDir: flags.cacheDir, stack };
  const pool = lazyPool({ ...interpreters, resetMode: flags.reset });
  const grader = graderKind?.make({ pool: lazyPool({ ...interpreters, resetMode: "fresh" }) });
  const setup = { pool, stack, grader, systemPrompt: flags.system, timeoutMs, maxTurns };
  return await playTasks({
    ...{ tasks, limit, samples, seed, concurrency, maxTurns, summary, out, json, show, signal },
    ...{ policy: chosen.policy, onTask: chosen.onTask, makeEnv: await kind.open(setup) },
    ...{ stdout: Deno.stdout, stderr: Deno.stderr, colour: wantsColour(), columns: terminalColumns },
  });
}

async function policyOf(flags: RolloutFlags): Promise<ChosenPolicy> {
  const { model, temperature, maxTokens, requestTimeoutMs: timeoutMs, concurrency } = flags;
  const apiKey = Deno.env.get("OPENAI_API_KEY") || undefined;
  return await chosenPolicy(flags.policy, { model, temperature, maxTokens, timeoutMs, concurrency, apiKey });
}

async function outOf(
  flags: RolloutFlags,
  summary: Summary,
  { name }: Policy,
): Promise<TrajectoryFile | undefined> {
  const { out, resume, force, tasks: source } = flags;
  if (out === undefined) return undefined;
  const onKept = (trajectory: Trajectory) => {
    const { policy } = trajectory.versions;
    if (policy !== undefined && policy !== name) {
      throw new UsageError(
        `Cannot resume '${out}' as it must hold episodes of '${name}': it has one of '${policy}'`,
      );
    }
    summary.addEarlier(trajectory);
  };
  return await TrajectoryFile.open(out, { resume, force, source, onKept });
}

/** While a server thinks, an interpreter waits for it; one that need not wait keeps a core busy. */
function sizesOf(flags: RolloutFlags, { isRemote }: ChosenPolicy): { concurrency: number; poolSize: number } {
  const cores = Math.max(2, navigator.hardwareConcurrency);
  const concurrency = flags.concurrency ?? flags.poolSize ?? (isRemote ? REMOTE_CONCURRENCY : cores);
  return { concurrency, poolSize: flags.poolSize ?? (isRemote ? concurrency : Math.min(concurrency, cores)) };
}
