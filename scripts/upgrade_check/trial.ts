import { dirname, join } from "node:path";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { testEnvironment } from "../../tests/run_suite.ts";
import { lastLines, type Outcome, outcomeOf } from "./report.ts";
import { listFiles, type Versions, writeVersions } from "./versions.ts";

/** Options of {@linkcode Trial.create}. */
export interface TrialOptions {
  /** Root of the clone, which stays unchanged. */
  readonly root: string;
  /** Folder of the copy. What it had before is removed. */
  readonly folder: string;
  readonly versions: Versions;
  /** True to keep the copy on dispose. */
  readonly keep: boolean;
  readonly signal: AbortSignal;
}

/** A step of the check. */
export interface Step {
  readonly name: string;
  /** True if the steps after it cannot run without it. */
  readonly isNeeded: boolean;
  run(): Promise<Outcome>;
}

interface Output {
  readonly success: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** A copy of the clone with other versions. Dispose removes the copy and keeps the output of its steps. */
export class Trial implements AsyncDisposable {
  readonly #options: TrialOptions;
  readonly #clone: string;
  readonly #home: string;
  #deno = "";
  /** Folder of the output of the steps. */
  readonly logs: string;

  private constructor(options: TrialOptions) {
    this.#options = options;
    this.#clone = join(options.folder, "clone");
    this.#home = join(options.folder, "home");
    this.logs = join(options.folder, "logs");
  }

  /** Copies the clone and writes the versions into the copy. */
  static async create(options: TrialOptions): Promise<Trial> {
    const trial = new Trial(options);
    await Deno.remove(options.folder, { recursive: true }).catch(() => {}); // usually there is none
    await Deno.mkdir(trial.logs, { recursive: true });
    for (const path of await listFiles(options.root)) {
      options.signal.throwIfAborted();
      await Deno.mkdir(dirname(join(trial.#clone, path)), { recursive: true });
      await Deno.copyFile(join(options.root, path), join(trial.#clone, path));
    }
    await writeVersions(trial.#clone, options.versions);
    return trial;
  }

  /** Returns the steps: the installation, the types, the base image, and the tests of each subject. */
  steps(subjects: Readonly<Record<string, readonly string[]>>): Step[] {
    const tests = Object.entries(subjects).map(([name, files]) => ({
      name,
      isNeeded: false,
      run: () => this.#test(name, files),
    }));
    return [
      { name: "install", isNeeded: true, run: () => this.#try("install", () => this.#install()) },
      { name: "types", isNeeded: false, run: () => this.#try("types", () => this.#run(["check", "."])) },
      { name: "base image", isNeeded: false, run: () => this.#try("base image", () => this.#buildImage()) },
      ...tests,
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#options.keep) return;
    const { folder } = this.#options;
    const made = [this.#clone, this.#home, join(folder, "deno")];
    await Promise.all(made.map((path) => Deno.remove(path, { recursive: true }).catch(() => {}))); // a step made it, or not
  }

  /** Installs Deno from npm, and what the copy imports. */
  async #install(): Promise<Output> {
    const { folder, versions, signal } = this.#options;
    const prefix = join(folder, "deno");
    await Deno.mkdir(prefix, { recursive: true });
    await Deno.writeTextFile(join(prefix, "package.json"), '{ "private": true }\n');
    const args = ["install", "--no-audit", "--no-fund", "--foreground-scripts", `deno@${versions.deno}`];
    const installed = await output("npm", { args, cwd: prefix, signal });
    if (!installed.success) return installed;
    const binary = join(prefix, "node_modules/.bin/deno");
    const path = await output(binary, {
      args: ["eval", "console.log(Deno.execPath())"],
      cwd: prefix,
      signal,
    });
    this.#deno = path.stdout.trim();
    if (!path.success) return path;
    const packages = await this.#run(["install", "--entrypoint", "src/cli/commands.ts", "mod.ts"]);
    return packages.success ? await this.#run(["task", "run-config"]) : packages;
  }

  async #buildImage(): Promise<Output> {
    const result = await this.#run(["run", "-A", "src/cli.ts", "exec", "-e", "print(6*7)"]);
    return { ...result, success: result.success && result.stdout === "42\n" };
  }

  async #test(name: string, files: readonly string[]): Promise<Outcome> {
    const junit = join(this.logs, `${name}.xml`);
    const paths = files.map((file) => `tests/${file}`);
    const startedAt = performance.now();
    const args = ["test", "-A", "--no-check", "--no-prompt", "--parallel", `--junit-path=${junit}`, ...paths];
    const result = await this.#run(args);
    await this.#log(name, result);
    const report = await Deno.readTextFile(junit).catch(() => ""); // there is none if a file could not be loaded
    const durationMs = performance.now() - startedAt;
    return outcomeOf(name, { junit: report, output: result.stderr + result.stdout, ...result, durationMs });
  }

  async #try(step: string, work: () => Promise<Output>): Promise<Outcome> {
    const startedAt = performance.now();
    const result = await work();
    await this.#log(step, result);
    const durationMs = performance.now() - startedAt;
    const failures = result.success
      ? []
      : [{ test: step, message: lastLines(result.stdout + result.stderr) }];
    return { step, passed: 1 - failures.length, failed: failures.length, durationMs, failures };
  }

  /** Runs Deno in the copy, in the environment of tests. */
  async #run(args: string[]): Promise<Output> {
    const env = { ...await testEnvironment(this.#home), NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" };
    return await output(this.#deno, { args, cwd: this.#clone, env, signal: this.#options.signal });
  }

  async #log(step: string, { stdout, stderr }: Output): Promise<void> {
    await Deno.writeTextFile(join(this.logs, `${step}.log`), stdout + stderr);
  }
}

/**
 * Checks that npm has a version of a package.
 *
 * @throws {UsageError} if it has not; the message names the newest.
 */
export async function checkPublished(name: string, version: string, signal: AbortSignal): Promise<void> {
  const args = ["view", name, "versions", "--json"];
  const { success, stdout, stderr } = await output("npm", { args, cwd: Deno.cwd(), signal });
  if (!success) throw new UsageError(`Cannot read the versions of '${name}' from npm: ${lastLines(stderr)}`);
  const versions: unknown = JSON.parse(stdout);
  if (!Array.isArray(versions) || versions.includes(version)) return;
  const newest = versions.slice(-5).join(", ");
  throw new UsageError(
    `Cannot check '--${name} ${version}' as npm has no such version: the newest are ${newest}`,
  );
}

/** Runs a program to its end. Rejects with the reason of the signal when it is aborted. */
async function output(
  program: string,
  options: { args: string[]; cwd: string; env?: Record<string, string>; signal: AbortSignal },
): Promise<Output> {
  options.signal.throwIfAborted();
  try {
    const result = await new Deno.Command(program, { ...options, stdin: "null" }).output();
    options.signal.throwIfAborted();
    const decoder = new TextDecoder();
    const { success, stdout, stderr } = result;
    return { success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new UsageError(`Cannot run '${program}': install Node.js, which has it`, { cause: error });
  }
}
