import { Command, Option } from "commander";
import { bench, BENCH_PART_NAMES, type BenchPart } from "../bench/bench.ts";
import { formatRows, reaches, type Row } from "../bench/row.ts";
import { detectLayers } from "../sandbox/layers.ts";
import { EXIT } from "./exit_code.ts";
import { runCommand } from "./run_command.ts";
import { announceBuild, cacheDirectory, chosenProfile, flagsOf, type SandboxFlags } from "./sandbox_flags.ts";
import { wholeNumber } from "./whole_number.ts";
import { writeText } from "./write_text.ts";

interface BenchFlags extends SandboxFlags {
  effort: number;
  json?: string;
  part?: BenchPart;
}

const HELP = `
The figures are medians, and those of peers come from the same run. On a machine that does other work,
compare ratios. Needs no network.

Exit codes: 0 measured, bounds that are missed included, 1 something answered wrongly or was left behind.`;

/** The command `bench`: measures what the README claims. */
export function benchCommand(): Command {
  return new Command("bench")
    .description("Measure starts, execs, rewinds and memory, with peers in the same run")
    .addOption(
      new Option("-p, --profile <name>", "a profile with host tools: a name or a file").default("tools"),
    )
    .option("--effort <n>", "how many times as many runs as usual", wholeNumber(1), 1)
    .addOption(
      new Option("--part <name>", "measure this alone; chaos and density only so").choices(BENCH_PART_NAMES),
    )
    .option("--json <file>", "write the rows to a file too")
    .addHelpText("after", HELP)
    .action((_flags: unknown, command: Command) => runCommand(() => runBench(flagsOf<BenchFlags>(command))));
}

async function runBench(flags: BenchFlags): Promise<number> {
  const profile = await chosenProfile(flags);
  const setup = { profile, detected: await detectLayers(), effort: flags.effort, onBuild: announceBuild };
  const rows: Row[] = [];
  for await (const row of bench({ ...setup, cacheDir: cacheDirectory(flags.cacheDir) }, flags.part)) {
    rows.push(row);
    await writeText(
      Deno.stderr,
      Deno.stderr.isTerminal() ? `\r\x1b[K${rows.length} measured: ${row.what}` : "",
    );
  }
  await writeText(Deno.stderr, Deno.stderr.isTerminal() ? "\r\x1b[K" : "");
  await writeText(Deno.stdout, `${formatRows(rows)}\n`);
  if (flags.json !== undefined) {
    await Deno.writeTextFile(flags.json, `${JSON.stringify(report(rows), null, 2)}\n`);
  }
  return rows.some((row) => row.unit === "errors" && reaches(row) === false) ? EXIT.error : EXIT.ok;
}

function report(rows: readonly Row[]): object {
  return {
    deno: Deno.version.deno,
    system: `${Deno.build.os} ${Deno.build.arch}`,
    cores: navigator.hardwareConcurrency,
    rows,
  };
}
