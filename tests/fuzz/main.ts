import { Command, CommanderError } from "commander";
import { fileURLToPath } from "node:url";
import { EXIT, runCommand } from "../../src/cli/run_command.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { writeText } from "../../src/cli/output.ts";
import { readLines } from "../../src/read_lines.ts";
import { randomSeed } from "../../src/seeded_random.ts";
import { escapeControls } from "../../src/terminal_text.ts";
import type { Report } from "./child.ts";
import { Corpus } from "./corpus.ts";
import { loadTarget, TARGET_NAMES } from "./targets.ts";

/**
 * Fuzzes code that reads untrusted input, and keeps the inputs that failed:
 *
 *     deno task fuzz [--minutes N] [--target NAME…] [--seed N]
 */

interface Flags {
  readonly minutes: string;
  readonly target?: readonly string[];
  readonly seed?: string;
}

const NOTES = `
Targets: ${TARGET_NAMES.join(", ")}.
Each target runs in a process with a heap of 512 MiB. An input fails if something does not hold that must, or
if it takes over 2 s or 1 GiB. A failed input is made smaller and is kept in tests/fuzz/corpus, which a test
of 'task test' runs; inputs with which a target does something else are kept there too, up to 20 kB a target.
Ctrl-C keeps what was found.

Example:
  deno task fuzz --minutes 10 --target jsonc --target shell

Exit codes: 0 nothing failed, 1 an input failed, 2 wrong usage, 130 interrupted.`;

function fuzzCommand(): Command {
  return new Command("fuzz")
    .description("Fuzz code that reads untrusted input, from a corpus in tests/fuzz/corpus")
    .option("--minutes <n>", "time of all targets together", "7")
    .option("--target <name...>", "fuzz these targets only")
    .option("--seed <n>", "seed of the inputs (default: a random one, which is printed)")
    .addHelpText("after", NOTES)
    .exitOverride()
    .action((flags: Flags) => runCommand((signal) => fuzz(flags, signal)));
}

async function fuzz(flags: Flags, signal: AbortSignal): Promise<number> {
  const minutes = readNumber("minutes", flags.minutes, { min: 0.01, isWhole: false });
  const seed = flags.seed === undefined
    ? randomSeed()
    : readNumber("seed", flags.seed, { min: 0, isWhole: true });
  const names = flags.target ?? TARGET_NAMES;
  const unknown = names.find((name) => !TARGET_NAMES.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`Cannot fuzz '${unknown}' as '--target' must be one of ${TARGET_NAMES.join(", ")}`);
  }
  await print(`Seed ${seed}\n`);
  let failures = 0;
  for (const name of names) {
    const run = new FuzzRun(name, { seed, ms: minutes * 60_000 / names.length, signal });
    failures += await run.run();
    if (signal.aborted) return EXIT.interrupted;
  }
  return failures > 0 ? EXIT.error : EXIT.ok;
}

function readNumber(name: string, text: string, { min, isWhole }: { min: number; isWhole: boolean }): number {
  const value = Number(text);
  if (value >= min && (isWhole ? Number.isSafeInteger(value) : Number.isFinite(value))) return value;
  const kind = isWhole ? "a whole number" : "a number";
  throw new UsageError(`Cannot fuzz as '--${name}' must be ${kind} >= ${min}: current value is '${text}'`);
}

const POLL_MS = 250;
/** Time after which an input counts as one that does not end. A process starts within the same time. */
const MAX_INPUT_MS = 30_000;
const MAX_RESIDENT_BYTES = 1024 ** 3;
const HEAP_MIB = 512;
const CHILD = fileURLToPath(new URL("child.ts", import.meta.url));

/** Fuzzes a target in a process, which is started again after an input that ended it or did not end. */
class FuzzRun {
  readonly #name: string;
  readonly #options: { readonly seed: number; readonly ms: number; readonly signal: AbortSignal };
  readonly #endsAt: number;
  #inputs = 0;
  #kinds = 0;
  #failures = 0;
  #kept = 0;

  constructor(name: string, options: { seed: number; ms: number; signal: AbortSignal }) {
    this.#name = name;
    this.#options = options;
    this.#endsAt = performance.now() + options.ms;
  }

  /** Returns the number of failures. */
  async run(): Promise<number> {
    const target = await loadTarget(this.#name);
    await target.close?.(); // the process of the target starts another sandbox, and this one would keep the command open
    const corpus = await Corpus.read(this.#name, target);
    const current = await Deno.makeTempFile();
    try {
      for (let first = 0; this.#isOn;) {
        const lost = await this.#runChild(first, { current, corpus });
        if (lost === undefined) break;
        await this.#fail(corpus, { input: lost.input, note: lost.reason, message: "" });
        if (lost.index < 0) break; // the kept corpus has the input: it would end each process
        first = lost.index + 1;
      }
    } finally {
      await Deno.remove(current);
      await this.#progress("\n");
    }
    return this.#failures;
  }

  get #isOn(): boolean {
    return performance.now() < this.#endsAt && !this.#options.signal.aborted;
  }

  /** Runs a process until the time is over. Returns the input that ended it, or that it did not end. */
  async #runChild(
    first: number,
    { current, corpus }: { current: string; corpus: Corpus },
  ): Promise<{ index: number; input: Uint8Array; reason: string } | undefined> {
    await Deno.writeFile(current, new Uint8Array());
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--no-check", `--v8-flags=--max-old-space-size=${HEAP_MIB}`, CHILD],
        ...[this.#name, String(this.#options.seed), String(first), current],
      ],
      stdout: "piped",
      stderr: "null",
      detached: true, // Ctrl-C reaches this process only, which ends the other one
    }).spawn();
    const reading = this.#readReports(child.stdout, corpus);
    let hasEnded = false;
    const ended = child.status.then(() => hasEnded = true);
    let reason: string | undefined;
    let [last, lastAt] = [-2, performance.now()];
    while (this.#isOn && !hasEnded && reason === undefined) {
      await Promise.race([new Promise((go) => setTimeout(go, POLL_MS)), ended]);
      const { index } = await readCurrent(current);
      if (index !== last) [last, lastAt] = [index, performance.now()];
      if (performance.now() - lastAt > MAX_INPUT_MS) reason = "does not end";
      else if (await residentBytes(child.pid) > MAX_RESIDENT_BYTES) reason = "takes over 1 GiB";
    }
    if (hasEnded) reason = "ends the process";
    else child.kill("SIGKILL");
    await ended;
    await reading;
    return reason === undefined ? undefined : { ...await readCurrent(current), reason };
  }

  async #readReports(stdout: ReadableStream<Uint8Array>, corpus: Corpus): Promise<void> {
    for await (const line of readLines(stdout, { maxBytes: 1024 * 1024 })) {
      if (!("text" in line) || line.unended) continue;
      const report = JSON.parse(line.text) as Report;
      if (report.type === "progress") {
        this.#inputs = report.inputs;
        this.#kinds = report.kinds;
        await this.#progress("");
      } else {
        const found = { ...report, input: Uint8Array.fromBase64(report.input) };
        if (report.type === "failure") await this.#fail(corpus, found);
        else if (await corpus.addKind(found)) this.#kept++;
      }
    }
  }

  async #fail(corpus: Corpus, found: { input: Uint8Array; note: string; message: string }): Promise<void> {
    this.#failures++;
    await corpus.addFailure(found);
    const shown = escapeControls(new TextDecoder().decode(found.input.subarray(0, 200)));
    await print(`\n${this.#name}: ${found.note}\n  input ${shown}\n  ${escapeControls(found.message)}\n`);
  }

  async #progress(end: string): Promise<void> {
    const isTerminal = Deno.stderr.isTerminal();
    if (!isTerminal && end === "") return;
    const text =
      `${this.#name}: ${this.#inputs} inputs, ${this.#kinds} kinds of outcomes, ${this.#kept} new ` +
      `in the corpus, ${this.#failures} failed`;
    await print(`${isTerminal ? "\r" : ""}${text}${end}`);
  }
}

/** Returns the input that a process runs, and its number: -1 for one of the kept corpus, -2 before the first. */
async function readCurrent(path: string): Promise<{ index: number; input: Uint8Array }> {
  const bytes = await Deno.readFile(path);
  if (bytes.length < 8) return { index: -2, input: new Uint8Array() };
  const view = new DataView(bytes.buffer);
  return { index: view.getInt32(0, true), input: bytes.subarray(8, 8 + view.getUint32(4, true)) };
}

const PAGE_BYTES = 4096;

/** Returns the resident memory of a process, or 0 where it cannot be read. */
async function residentBytes(pid: number): Promise<number> {
  const text = await Deno.readTextFile(`/proc/${pid}/statm`).catch(() => ""); // it has ended, or this is not Linux
  return Number(text.split(" ")[1] ?? 0) * PAGE_BYTES;
}

async function print(text: string): Promise<void> {
  await writeText(Deno.stderr, text);
}

try {
  await fuzzCommand().parseAsync(Deno.args, { from: "user" });
} catch (error) {
  if (error instanceof CommanderError) Deno.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  else throw error;
}
