/**
 * All commands of `paddock`. The start of a command loads the module of that command alone: see `main.ts`.
 */
import type { Command } from "commander";
import { cacheCommand } from "./cache/cache_command.ts";
import { checkTokensCommand } from "./commands/check_tokens.ts";
import { clusterCommand } from "./cluster/cluster_command.ts";
import { compareCommand } from "./commands/compare.ts";
import { completionCommand } from "./completion/completion_command.ts";
import { doctorCommand } from "./doctor.ts";
import { execCommand } from "./exec.ts";
import { fixturesCommand } from "./fixtures/fixtures_command.ts";
import { gatewayCommand } from "./gateway/gateway_command.ts";
import { gradeCommand } from "./commands/grade.ts";
import { harborCommand } from "./harbor/harbor_command.ts";
import { initCommand } from "./init/init_command.ts";
import type { Io } from "./io.ts";
import { mcpCommand } from "./commands/mcp.ts";
import { packagesCommand } from "./packages/packages_command.ts";
import { makePaddock, runPaddock } from "./paddock.ts";
import { replCommand } from "./repl.ts";
import { replayCommand } from "./replay/replay_command.ts";
import { rolloutCommand } from "./rollout/rollout_command.ts";
import { serveCommand } from "./serve.ts";
import { sessionCommand } from "./session.ts";
import { templatesCommand } from "./templates/templates_command.ts";
import { viewCommand } from "./commands/view.ts";

/** Returns the `paddock` command with all subcommands. */
export function paddockCommand(): Command {
  return makePaddock([
    { heading: "Run programs:", commands: [execCommand(), sessionCommand(), replCommand()] },
    { heading: "Serve:", commands: [serveCommand(), gatewayCommand(), clusterCommand(), mcpCommand()] },
    {
      heading: "Play and score episodes:",
      commands: [
        rolloutCommand(),
        checkTokensCommand(),
        templatesCommand(),
        gradeCommand(),
        viewCommand(),
        compareCommand(),
        replayCommand(),
        harborCommand(),
        fixturesCommand(),
      ],
    },
    {
      heading: "Set up:",
      commands: [initCommand(), packagesCommand(), cacheCommand(), doctorCommand(), completionCommand()],
    },
  ]);
}

/** Runs a command line in this process. Returns the exit code. */
export async function runCommandLine(args: readonly string[], io?: Io): Promise<number> {
  return await runPaddock(paddockCommand, args, io);
}
