import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { Command } from "commander";
import { abortable } from "../../async/abort.ts";
import { CheckpointService } from "../../server/checkpoints/checkpoint_service.ts";
import { CheckpointStore } from "../../server/checkpoints/checkpoint_store.ts";
import { ClientSession } from "../../server/mcp/client_session.ts";
import { LineTransport } from "../../server/mcp/line_transport.ts";
import { createPythonServer } from "../../server/mcp/python_server.ts";
import { onlySession } from "../../server/mcp/tool_sessions.ts";
import { Metrics } from "../../server/metrics.ts";
import { SessionService } from "../../server/sessions/session_service.ts";
import { DENO_VERSION } from "../../version.ts";
import { EXIT, runCommand } from "../run_command.ts";
import {
  createLazyPool,
  flagsOf,
  profileOption,
  resolveProfile,
  type SandboxFlags,
} from "../sandbox_options.ts";
import { printHint, writeText } from "../output.ts";
import { currentIo } from "../io.ts";

/** Idle timeout of the session: 24 hours, as the only client keeps the session until the disconnection. */
const IDLE_MS = 24 * 3_600_000;
/** Advice for a client without room for another checkpoint. */
const ADVICE = "checkpoints are deleted when their client disconnects";

interface McpFlags extends SandboxFlags {
  checkpoints?: true;
}

const NOTES = `
Tools: run_python_code, reset_session, read_file, write_file, list_files; with --checkpoints also checkpoint and
restore. Client configuration:
  {"mcpServers": {"python": {"command": "npx", "args":
    ["-y", "deno@${DENO_VERSION}", "task", "--quiet", "--cwd", "/path/to/paddock", "paddock", "mcp"]}}}

Exit codes: 0 the client disconnected, 2 wrong usage, 125 the sandbox could not be started, 130 interrupted.`;

/** Returns the command `mcp`, which serves a Python session over the Model Context Protocol. */
export function mcpCommand(): Command {
  return new Command("mcp")
    .description("Serve a Python session over the Model Context Protocol (stdio)")
    .addOption(profileOption().default("serve"))
    .option("--checkpoints", "give the client the tools checkpoint and restore")
    .addHelpText("after", NOTES)
    .action(async (_: object, command: Command) => {
      await runCommand((signal) => runMcp(flagsOf(command), signal));
    });
}

async function runMcp(flags: McpFlags, interrupted: AbortSignal): Promise<number> {
  const profile = await resolveProfile(flags, interrupted);
  await using stack = new AsyncDisposableStack();
  const pool = createLazyPool({ profile, size: 1, resetMode: "fresh", cacheDir: flags.cacheDir, stack })();
  const metrics = new Metrics();
  const sessions = stack.use(new SessionService({ pool, metrics, maxSessions: 1, idleMs: IDLE_MS }));
  const store = stack.use(new CheckpointStore({ advice: ADVICE }));
  const checkpoints = new CheckpointService({ pool, store, transfers: sessions.transfers, metrics });
  const { signal } = new AbortController();
  const open = () => sessions.create({ owner: "", signal });
  const client = stack.use(new ClientSession(open, flags.checkpoints && checkpoints));
  const transport = new LineTransport({
    readable: currentIo().stdin.readable,
    write: (text) => writeText(currentIo().stdout, text),
  });
  await printHint(
    "Waiting for a Model Context Protocol client on stdin; --help shows the client configuration",
  );
  serveStdio(() => createPythonServer(onlySession(client)), { transport });
  await abortable(transport.ended, interrupted);
  return EXIT.ok;
}
