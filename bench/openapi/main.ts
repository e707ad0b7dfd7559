import { Command } from "commander";
import { EXIT, runCommand } from "../../src/cli/run_command.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { flagsOf } from "../../src/cli/sandbox_options.ts";
import { exitWithUsage } from "../program.ts";
import { Serving } from "../serving.ts";
import { callsOf } from "./calls.ts";
import { NPM_PACKAGES, TYPESCRIPT_CLIENTS, type TypeScriptClient } from "./typescript_clients.ts";

interface OpenApiFlags {
  setup?: true;
  python: string;
}

const FOLDER = decodeURIComponent(new URL(".", import.meta.url).pathname);
const VENV = `${FOLDER}.venv`;
const TOKEN = "openapi".padEnd(32, "o");
/** Warnings of Redocly's recommended rules: a redirect and a WebSocket have no response 2xx. */
const MAX_WARNINGS = 2;

const NOTES = `
The linter and two generators come from npm at fixed versions. --setup creates the environment of the third one, once,
from the versions and hashes of requirements.txt; it needs Python 3.11 and the package index.

Exit codes: 0 no fault found, 1 a fault was found, 2 wrong usage, or the environment is missing.`;

function openApiCommand(): Command {
  return new Command("openapi")
    .description("Lint /openapi.json, generate clients from it, and call every operation of a new server")
    .option("--setup", "create the Python environment and exit")
    .option("--python <program>", "Python that creates the environment", "python3")
    .addHelpText("after", NOTES)
    .exitOverride(exitWithUsage)
    .action((_: object, command: Command) =>
      runCommand((signal) => checkOpenApi(flagsOf<OpenApiFlags>(command), signal))
    );
}

async function checkOpenApi(flags: OpenApiFlags, signal: AbortSignal): Promise<number> {
  if (flags.setup) return await setUp(flags.python, signal);
  const isReady = await Deno.stat(`${VENV}/bin/openapi-python-client`).then(() => true, () => false);
  if (!isReady) {
    throw new UsageError(
      `Cannot generate a Python client as its generator must be at '${VENV}': run deno task openapi --setup`,
    );
  }
  await using serving = await Serving.startWith({ PADDOCK_TOKEN: TOKEN }, ["--profile", "workspace"]);
  const folder = await Deno.makeTempDir({ prefix: "paddock-openapi-" });
  try {
    const run = new Runner(folder, signal);
    const document = await (await fetch(`${serving.url}/openapi.json`)).json();
    const calls = callsOf(document);
    await run.write("openapi.json", JSON.stringify(document));
    await run.write("calls.json", JSON.stringify(calls));
    await run.write("package.json", JSON.stringify({ type: "module", dependencies: NPM_PACKAGES }));
    await run.step("install", Deno.execPath(), ["install", "--quiet", "--no-lock"]);
    await run.step("Redocly, recommended rules", Deno.execPath(), [
      "run",
      "-A",
      "npm:@redocly/cli",
      "lint",
      "openapi.json",
      "--extends",
      "recommended",
      "--format",
      "summary",
      "--max-problems",
      String(MAX_WARNINGS),
    ]);
    for (const client of TYPESCRIPT_CLIENTS) {
      await run.write("program.ts", client.program(calls));
      await checkTypeScript(run, client, serving.url);
    }
    await checkDocs(run, serving.url);
    await checkPython(run, serving.url);
    return run.faults === 0 ? EXIT.ok : EXIT.error;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: "esnext",
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["esnext", "dom", "dom.iterable"],
    allowImportingTsExtensions: true,
    types: [],
  },
  files: ["program.ts", "deno.d.ts"],
};
/** The part of Deno that the programs use. */
const DENO_TYPES = "declare const Deno: { args: string[]; exit(code: number): never };";

async function checkTypeScript(
  run: Runner,
  { name, generate }: TypeScriptClient,
  url: string,
): Promise<void> {
  for (const file of ["harness.ts", "calls.ts"]) {
    await run.write(file, await Deno.readTextFile(FOLDER + file));
  }
  await run.write("tsconfig.json", JSON.stringify(TSCONFIG));
  await run.write("deno.d.ts", DENO_TYPES);
  await run.step(`${name}: generate`, Deno.execPath(), ["run", "-A", ...generate]);
  await run.step(`${name}: compile`, Deno.execPath(), ["run", "-A", "npm:typescript/tsc", "-p", "."]);
  const program = ["run", "-A", "--no-check", "--unstable-sloppy-imports", "program.ts", url, TOKEN];
  await run.step(`${name}: call`, Deno.execPath(), program);
}

/** Runs the example of the docs, which uses the types of the first generator, with the token of this server. */
async function checkDocs(run: Runner, url: string): Promise<void> {
  const page = await Deno.readTextFile(new URL("../../docs/server.md", import.meta.url));
  const [, example] = /^## Generated clients$[^]*?^```ts ignore\n([^]*?)^```$/m.exec(page) ?? [];
  const options = `baseUrl: "${url}", headers: { authorization: "Bearer ${TOKEN}" }`;
  const program = example?.replace('baseUrl: "http://127.0.0.1:8471"', options) ?? "missing";
  await run.write("program.ts", program.replace("./paddock.ts", "./openapi_types.ts"));
  await run.step("docs/server.md: compile", Deno.execPath(), ["run", "-A", "npm:typescript/tsc", "-p", "."]);
  await run.step("docs/server.md: run", Deno.execPath(), ["run", "-A", "--no-check", "program.ts"]);
}

async function checkPython(run: Runner, url: string): Promise<void> {
  const name = "openapi-python-client";
  await run.write("config.yml", "post_hooks: []\n");
  await run.step(`${name}: generate`, `${VENV}/bin/openapi-python-client`, [
    "generate",
    "--path",
    "openapi.json",
    "--output-path",
    "paddock_api",
    "--meta",
    "none",
    "--config",
    "config.yml",
    "--fail-on-warning",
  ]);
  await run.step(`${name}: compile`, `${VENV}/bin/python`, ["-m", "compileall", "-q", "paddock_api"]);
  await run.step(`${name}: call`, `${VENV}/bin/python`, [`${FOLDER}smoke.py`, run.folder, url, TOKEN]);
}

/** Runs the steps of a check in a folder. */
class Runner {
  readonly folder: string;
  readonly #signal: AbortSignal;
  faults = 0;

  constructor(folder: string, signal: AbortSignal) {
    this.folder = folder;
    this.#signal = signal;
  }

  /** Writes a file of the folder. */
  async write(name: string, text: string): Promise<void> {
    await Deno.writeTextFile(`${this.folder}/${name}`, text);
  }

  /** Runs a program and prints its outcome, with its output if it fails. */
  async step(name: string, program: string, args: readonly string[]): Promise<void> {
    const { success, stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      cwd: this.folder,
      env: { NO_COLOR: "1", REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
      stdin: "null",
      signal: this.#signal,
    }).output();
    const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    if (!success) this.faults++;
    const last = output.trim().split("\n").at(-1) ?? "";
    const text = success ? (name.endsWith(": call") ? last : "") : `\n${output.trim()}`;
    const line = `${success ? "ok" : "FAULT"}  ${name}${text && ` · ${text}`}\n`;
    await Deno.stdout.write(new TextEncoder().encode(line));
  }
}

/** Creates the environment. An earlier one is replaced. */
async function setUp(python: string, signal: AbortSignal): Promise<number> {
  const run = new Runner(FOLDER, signal);
  await run.step("create the environment", python, ["-m", "venv", "--clear", VENV]);
  const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"];
  await run.step("install", `${VENV}/bin/python`, [...args, "-r", `${FOLDER}requirements.txt`]);
  return run.faults === 0 ? EXIT.ok : EXIT.error;
}

if (import.meta.main) await openApiCommand().parseAsync(Deno.args, { from: "user" });
