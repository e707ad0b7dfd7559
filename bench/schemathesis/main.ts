import { Command } from "commander";
import { EXIT, runCommand } from "../../src/cli/run_command.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { parseWholeNumber } from "../../src/cli/options.ts";
import { flagsOf } from "../../src/cli/sandbox_options.ts";
import { exitWithUsage } from "../program.ts";
import { Serving } from "../serving.ts";

interface SchemathesisFlags {
  setup?: true;
  python: string;
  seconds: number;
  examples: number;
  seed?: number;
}

const FOLDER = decodeURIComponent(new URL(".", import.meta.url).pathname);
const VENV = `${FOLDER}.venv`;
const TOKEN = "schemathesis".padEnd(32, "s");

const NOTES = `
--setup creates the environment once, from the versions and hashes of requirements.txt; it needs Python 3.10 and the
package index. Later runs need no network. schemathesis.toml lists the checks.

Exit codes: 0 no fault found, 1 a fault was found, 2 wrong usage, or the environment is missing.`;

function schemathesisCommand(): Command {
  return new Command("schemathesis")
    .description("Send requests that Schemathesis derives from /openapi.json to a new server")
    .option("--setup", "create the Python environment and exit")
    .option("--python <program>", "Python that creates the environment", "python3")
    .option("--seconds <n>", "time of the run", parseWholeNumber(1), 240)
    .option("--examples <n>", "requests of each route and phase", parseWholeNumber(1), 20)
    .option("--seed <n>", "repeats the requests of another run", parseWholeNumber(0))
    .addHelpText("after", NOTES)
    .exitOverride(exitWithUsage)
    .action((_: object, command: Command) =>
      runCommand((signal) => runSchemathesis(flagsOf<SchemathesisFlags>(command), signal))
    );
}

async function runSchemathesis(flags: SchemathesisFlags, signal: AbortSignal): Promise<number> {
  if (flags.setup) return await setUp(flags.python, signal);
  const isReady = await Deno.stat(`${VENV}/bin/schemathesis`).then(() => true, () => false);
  if (!isReady) {
    throw new UsageError(
      `Cannot run Schemathesis as its environment must be at '${VENV}': run deno task schemathesis --setup`,
    );
  }
  await using serving = await Serving.startWith({ PADDOCK_TOKEN: TOKEN }, []);
  const headers = { "content-type": "application/json", authorization: `Bearer ${TOKEN}` };
  const create = async (path: string) => {
    const { id } = await serving.ask(path, {}, { headers }) as { id: string };
    return id;
  };
  const env = { SESSION_ID: await create("/v1/sessions"), ENV_ID: await create("/v1/envs") };
  await serving.ask(`/v1/sessions/${env.SESSION_ID}/files`, { files: { "data.txt": "MSAyIDMK" } }, {
    headers,
  });
  using _cleaner = endSessions(serving.url, { headers, except: env.SESSION_ID });
  const { seed, seconds, examples } = flags;
  const args = [
    "--config-file",
    `${FOLDER}schemathesis.toml`,
    "run",
    `${serving.url}/openapi.json`,
    "--header",
    `Authorization: Bearer ${TOKEN}`,
    "--max-time",
    String(seconds),
    "--max-examples",
    String(examples),
    "--request-timeout",
    "60",
    "--suppress-health-check",
    "all",
    "--phases",
    "examples,coverage,fuzzing",
    "--continue-on-failure",
    ...seed === undefined ? [] : ["--seed", String(seed)],
  ];
  return await runProgram(`${VENV}/bin/schemathesis`, args, { signal, env });
}

/** Ends the sessions that requests open, so that later ones need not wait for a free one. */
function endSessions(
  url: string,
  { headers, except }: { headers: Record<string, string>; except: string },
): Disposable {
  const endAll = async () => {
    const { sessions } = await (await fetch(`${url}/v1/sessions`, { headers })).json();
    for (const { id } of sessions) {
      if (id === except) continue;
      const response = await fetch(`${url}/v1/sessions/${id}`, { method: "DELETE", headers });
      await response.body?.cancel();
    }
  };
  // Schemathesis reports a server that does not respond.
  const timer = setInterval(() => endAll().catch(() => {}), 200);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Creates the environment. An earlier one is replaced. */
async function setUp(python: string, signal: AbortSignal): Promise<number> {
  const created = await runProgram(python, ["-m", "venv", "--clear", VENV], { signal });
  if (created !== EXIT.ok) return created;
  const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"];
  return await runProgram(`${VENV}/bin/python`, [...args, "-r", `${FOLDER}requirements.txt`], { signal });
}

/** Runs a program with the terminal's streams and returns 0, or 1 if it fails. */
async function runProgram(
  program: string,
  args: readonly string[],
  options: { signal: AbortSignal; env?: Record<string, string> },
): Promise<number> {
  const folder = await Deno.makeTempDir(); // Schemathesis writes its reports and examples there
  try {
    const { success } = await new Deno.Command(program, {
      args: [...args],
      cwd: folder,
      stdin: "null",
      stdout: "inherit",
      stderr: "inherit",
      ...options,
    }).output();
    return success ? EXIT.ok : EXIT.error;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await schemathesisCommand().parseAsync(Deno.args, { from: "user" });
