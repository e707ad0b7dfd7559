import { Command, Option } from "commander";
import { gatewayApp } from "../../gateway/app.ts";
import { escapeControls } from "../../terminal_text.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import { EXIT, runCommand } from "../run_command.ts";
import { applyConfig, configOption } from "../config/config_file.ts";
import { currentIo } from "../io.ts";
import { collectValues, nameOption, parseNumberAtLeast, parseWholeNumber } from "../options.ts";
import { writeText } from "../output.ts";
import { flagsOf } from "../sandbox_options.ts";
import { resolveServeAddress } from "../serve/address.ts";
import { listen, logError, waitForAbort } from "../serve/listening.ts";
import { type TokenFlags, withTokenFiles } from "../serve/token_files.ts";
import { ownerCommands } from "./owner_commands.ts";
import { evaluationNote, type GatewayFlags, openGateway } from "./open_gateway.ts";

interface GatewayCommandFlags extends GatewayFlags, TokenFlags {
  port: number;
  host: string;
}

const NOTES = `
An agent asks the gateway with its own client: POST /v1/gateway/sessions answers a key and base URLs for the SDKs of
OpenAI and Anthropic. The key opens the model only; rewards and rows need the owner's token (--token).

'paddock rollout --help' describes the call styles.

The commands below are for owners of sessions, at a gateway that runs.

Examples:
  paddock gateway --policy sglang:http://127.0.0.1:30000 --tokenizer ./Qwen3-8B --out rows.jsonl
  paddock gateway --policy openai:http://127.0.0.1:8000 --model Qwen/Qwen3-8B --tokenizer ./Qwen3-8B

Exit codes: 0 stopped by Ctrl-C or SIGTERM, 2 wrong usage, 69 the port is in use, 125 the gateway could not be
started.`;

/** Returns the command `gateway`, which records the turns of agents for a trainer. */
export function gatewayCommand(): Command {
  const command = new Command("gateway")
    .description("Serve a model to agents, and record their turns for a trainer")
    .optionsGroup("Model:")
    .option(
      "--policy <policy>",
      "model server that returns token ids: sglang:URL, or openai:URL of vLLM; any other only for evaluation: openai-chat:URL",
    )
    .option("--model <name>", "name of the model; openai:URL needs it")
    .option("--tokenizer <dir>", "folder with tokenizer.json and tokenizer_config.json of the model")
    .addOption(
      nameOption("--calls <style>", "syntax in which the model writes tool calls", Object.keys(CALL_STYLES))
        .default("openai"),
    )
    .addOption(
      new Option("--token-mode <mode>", "append keeps earlier tokens; rerender renders the chat in each turn")
        .choices(["append", "rerender"]).default("append"),
    )
    .option(
      "--context-length <n>",
      "tokens that the model takes, prompt and reply together",
      parseWholeNumber(1),
    )
    .option(
      "--temperature <t>",
      "sampling temperature, in place of that of the agents",
      parseNumberAtLeast(0),
    )
    .option("--max-tokens <n>", "maximum number of tokens of a reply", parseWholeNumber(1))
    .option("--concurrency <n>", "requests that the model server gets at once", parseWholeNumber(1), 256)
    .option("--timeout <seconds>", "time that one reply may take", parseNumberAtLeast(1), 600)
    .optionsGroup("Sessions:")
    .addOption(
      new Option("--rewritten <mode>", "what happens if an agent changes a message of the assistant")
        .choices(["branch", "keep", "refuse"]).default("branch"),
    )
    .option(
      "--idle-timeout <seconds>",
      "time without a request after which a session ends",
      parseNumberAtLeast(1),
      1800,
    )
    .option("--session-memory <MiB>", "memory of sessions; each token has a share", parseWholeNumber(1), 1024)
    .option(
      "--grader-file <file>",
      "TypeScript or Python file with a grader, which rewards name by the file's name; repeatable",
      collectValues,
    )
    .option("--out <file>", "append the rows of each session that ends to a file")
    .option("--state-dir <dir>", "folder by which sessions continue after a restart, also after a kill")
    .optionsGroup("Address and access:")
    .option("--port <n>", "port to listen on; 0 chooses a free one", parseWholeNumber(0), 8472)
    .option("--host <name>", "address to listen on; a non-loopback address needs a token", "127.0.0.1")
    .option("--token <text...>", "accept only owners with one of these tokens, of at least 16 characters")
    .option("--token-file <file>", "file with further tokens, one per line")
    .optionsGroup("Options:")
    .addOption(configOption())
    .addHelpText("after", NOTES)
    .action(async (_: object, command: Command) => {
      await runCommand(async (signal) => {
        await applyConfig(command);
        return await runGateway(await withTokenFiles(flagsOf(command)), signal);
      });
    });
  for (const owned of ownerCommands()) command.addCommand(owned);
  return command;
}

async function runGateway(flags: GatewayCommandFlags, signal: AbortSignal): Promise<number> {
  const address = resolveServeAddress(flags, currentIo().env.get("PADDOCK_TOKEN"));
  await using stack = new AsyncDisposableStack();
  const owners = Math.max(1, address.tokens.length);
  const gateway = await openGateway(flags, { stack, owners, signal });
  const handler = gatewayApp({ ...address, gateway, onError: logError });
  await using server = await listen(handler, { ...address, port: flags.port });
  const access = address.tokens.length > 0 ? "token required" : "no token required";
  const url = `http://${address.name}:${server.port}`;
  const text = `Serving the model '${gateway.model}' to agents at ${url} (${access}); press Ctrl-C to stop\n`;
  await writeText(currentIo().stderr, escapeControls(text + evaluationNote(gateway)));
  await waitForAbort(signal);
  return EXIT.ok;
}
