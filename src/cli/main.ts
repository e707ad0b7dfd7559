/** The process of the command line. The process loads only the module of the running command. */
import type { Command } from "commander";
import { fileURLToPath } from "node:url";
import { keepHangupIgnored } from "./process/hangup.ts";
import { processIo } from "./io.ts";
import { makePaddock, runPaddock } from "./paddock.ts";
import { excludeLoopback } from "./process/proxy.ts";

/** Loads commands by their names. `completion` and `help` are missing, as they need all commands. */
const LOADERS: Readonly<Record<string, () => Promise<Command>>> = {
  exec: async () => (await load<typeof import("./exec.ts")>("./exec.ts")).execCommand(),
  session: async () => (await load<typeof import("./session.ts")>("./session.ts")).sessionCommand(),
  repl: async () => (await load<typeof import("./repl.ts")>("./repl.ts")).replCommand(),
  serve: async () => (await load<typeof import("./serve.ts")>("./serve.ts")).serveCommand(),
  gateway: async () =>
    (await load<typeof import("./gateway/gateway_command.ts")>("./gateway/gateway_command.ts"))
      .gatewayCommand(),
  cluster: async () =>
    (await load<typeof import("./cluster/cluster_command.ts")>("./cluster/cluster_command.ts"))
      .clusterCommand(),
  mcp: async () => (await load<typeof import("./commands/mcp.ts")>("./commands/mcp.ts")).mcpCommand(),
  rollout: async () =>
    (await load<typeof import("./rollout/rollout_command.ts")>("./rollout/rollout_command.ts"))
      .rolloutCommand(),
  "check-tokens": async () =>
    (await load<typeof import("./commands/check_tokens.ts")>("./commands/check_tokens.ts"))
      .checkTokensCommand(),
  templates: async () =>
    (await load<typeof import("./templates/templates_command.ts")>("./templates/templates_command.ts"))
      .templatesCommand(),
  grade: async () => (await load<typeof import("./commands/grade.ts")>("./commands/grade.ts")).gradeCommand(),
  view: async () => (await load<typeof import("./commands/view.ts")>("./commands/view.ts")).viewCommand(),
  compare: async () =>
    (await load<typeof import("./commands/compare.ts")>("./commands/compare.ts")).compareCommand(),
  replay: async () =>
    (await load<typeof import("./replay/replay_command.ts")>("./replay/replay_command.ts")).replayCommand(),
  harbor: async () =>
    (await load<typeof import("./harbor/harbor_command.ts")>("./harbor/harbor_command.ts")).harborCommand(),
  fixtures: async () =>
    (await load<typeof import("./fixtures/fixtures_command.ts")>("./fixtures/fixtures_command.ts"))
      .fixturesCommand(),
  init: async () =>
    (await load<typeof import("./init/init_command.ts")>("./init/init_command.ts")).initCommand(),
  packages: async () =>
    (await load<typeof import("./packages/packages_command.ts")>("./packages/packages_command.ts"))
      .packagesCommand(),
  cache: async () =>
    (await load<typeof import("./cache/cache_command.ts")>("./cache/cache_command.ts")).cacheCommand(),
  doctor: async () => (await load<typeof import("./doctor.ts")>("./doctor.ts")).doctorCommand(),
};

const VERSION_FLAGS = ["-V", "--version"];

/** Returns `paddock` with nothing but the command that the arguments begin with, or with all commands. */
export async function commandFor(args: readonly string[]): Promise<Command> {
  const [first = ""] = args;
  if (args.length === 1 && VERSION_FLAGS.includes(first)) return makePaddock([]);
  const loader = Object.hasOwn(LOADERS, first) ? LOADERS[first] : undefined;
  if (loader !== undefined) return makePaddock([{ heading: "Commands:", commands: [await loader()] }]);
  return (await load<typeof import("./commands.ts")>("./commands.ts")).paddockCommand();
}

/** Imports a module beside this module. The URL is computed, as Deno loads the targets of literal imports at the start. */
async function load<Module>(path: string): Promise<Module> {
  return await import(new URL(path, import.meta.url).href);
}

/**
 * Makes the caller's folder the current folder. `deno task` runs a task in the folder of the clone and names the caller's
 * folder in `INIT_CWD`, as npm does; paths of the command line are relative to the caller's folder.
 */
async function enterCallersFolder(): Promise<void> {
  const caller = Deno.env.get("INIT_CWD");
  if (!caller || Deno.cwd() !== await Deno.realPath(fileURLToPath(new URL("../../", import.meta.url)))) {
    return;
  }
  try {
    Deno.chdir(caller);
  } catch {
    // the variable is stale, and the current folder stays
  }
}

/**
 * Runs the command line with the arguments of this process, and ends the process.
 *
 * @param options.ignoresHangup True if this process was started with SIGHUP ignored.
 */
export async function main({ ignoresHangup }: { readonly ignoresHangup: boolean }): Promise<never> {
  excludeLoopback(Deno.env);
  if (import.meta.url.startsWith("file:")) await enterCallersFolder();
  const io = processIo({ ignoresHangup });
  Deno.exit(await runPaddock(() => commandFor(Deno.args), Deno.args, io)); // a pending read of stdin would keep the process alive
}

if (import.meta.main) await main({ ignoresHangup: keepHangupIgnored() });
