import { Command, Option } from "commander";
import { loadTokenizer } from "../../chat/load_tokenizer.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import { type ChatCheck, checkTokens, type TokenReport } from "../../rollout/check_tokens.ts";
import type { TokenProblem } from "../../rollout/tokens/token_problem.ts";
import type { TokenMode } from "../../rollout/tokens/turn_writers.ts";
import { escapeControls, escapeJsonControls } from "../../terminal_text.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import { EXIT, runCommand } from "../run_command.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";
import { lookUp, nameOption, parseNumberAtLeast, parseWholeNumber } from "../options.ts";
import { TextQueue, wantsColour, writeText } from "../output.ts";
import { type ResolvedPolicy, resolvePolicy, SERVER_POLICIES } from "../rollout/policies.ts";

/** Flags of the command. */
interface CheckTokensFlags {
  policy: string;
  model?: string;
  tokenizer: string;
  temperature?: number;
  maxTokens: number;
  requestTimeoutMs: number;
  calls?: string;
  tokenMode: TokenMode;
  seed?: number;
  json?: boolean;
}

const NOTES = `
It plays ten chats, with about 35 requests, as rollout --train-out does: with tools, thoughts, control tokens in
messages, Unicode, long messages and several turns. Each prompt that the server used is compared with the recorded one,
and the sampled ids with the text. Log-probabilities are required.

Examples:
  paddock check-tokens --policy sglang:http://127.0.0.1:30000 --tokenizer Qwen3-8B
  paddock check-tokens --policy openai:http://127.0.0.1:8000 --model Qwen/Qwen3-8B --tokenizer Qwen3-8B
  paddock check-tokens --policy llamacpp:http://127.0.0.1:8080 --tokenizer Qwen3-8B

Exit codes: 0 the tokens can be trusted, 1 a token differs or the server gives no tokens, 2 wrong usage, 130 interrupted.`;

/** Servers that give tokens, and how they are started. */
const SERVERS = `Start a server that returns token ids, such as:
  python -m sglang.launch_server --model-path MODEL --port 30000   --policy sglang:http://127.0.0.1:30000
  vllm serve MODEL --port 8000    (0.10.2 or newer)                --policy openai:http://127.0.0.1:8000
  llama-server --model MODEL.gguf --port 8080                      --policy llamacpp:http://127.0.0.1:8080
`;

/** Returns the command `check-tokens`, which checks that a server's tokens can be used for training. */
export function checkTokensCommand(): Command {
  return new Command("check-tokens")
    .description("Check that the tokens of a model server can be trusted for training")
    .requiredOption("--policy <name>", `policy: ${SERVER_POLICIES}`)
    .requiredOption("--tokenizer <dir>", "folder with tokenizer.json and tokenizer_config.json")
    .option("--model <name>", "model name sent to the server of --policy")
    .option("--temperature <t>", "sampling temperature (default: the server's)", parseNumberAtLeast(0))
    .option(
      "--max-tokens <n>",
      "maximum tokens of a usual reply; some chats use up to 8 times as many",
      parseWholeNumber(1),
      32,
    )
    .option("--request-timeout-ms <n>", "timeout of one reply in milliseconds", parseWholeNumber(1), 300_000)
    .addOption(nameOption("--calls <style>", "format of tool calls", Object.keys(CALL_STYLES)))
    .addOption(
      new Option("--token-mode <mode>", "append to earlier tokens, or render each prompt again")
        .choices(["append", "rerender"]).default("append"),
    )
    .option("--seed <n>", "seed of the replies", parseWholeNumber(0))
    .option("--json", "print one JSON object")
    .addHelpText("after", NOTES)
    .action(async (flags: CheckTokensFlags) => {
      await runCommand((signal) => runCheckTokens(flags, signal));
    });
}

async function runCheckTokens(flags: CheckTokensFlags, signal: AbortSignal): Promise<number> {
  const { json, maxTokens, tokenMode: mode, seed } = flags;
  const tokenizer = await rethrowAsUsageError(() => loadTokenizer(flags.tokenizer));
  const { policy } = await resolveServer(flags, tokenizer);
  const { stdout } = currentIo();
  const colour = wantsColour();
  await using status = new StatusLine();
  const report = await rethrowAsUsageError(() =>
    checkTokens(policy, tokenizer, {
      mode,
      maxTokens,
      seed,
      signal,
      onStart: ({ name, number, total }) => status.show(`${number}/${total}  ${name} …`),
      onChat: async (check) => {
        await status.clear();
        if (!json) await writeText(stdout, formatCheck(check, { colour }));
      },
    }), { kinds: [TypeError, RangeError, SyntaxError] });
  await status.clear();
  await writeText(
    stdout,
    json ? `${escapeJsonControls(JSON.stringify(report))}\n` : formatConclusion(report),
  );
  return report.ok ? EXIT.ok : EXIT.error;
}

async function resolveServer(flags: CheckTokensFlags, tokenizer: Tokenizer): Promise<ResolvedPolicy> {
  const { policy: name, model, temperature, maxTokens, requestTimeoutMs: timeoutMs, calls } = flags;
  const apiKey = currentIo().env.get("OPENAI_API_KEY") || undefined;
  const keepSpecialTokens = calls !== undefined && lookUp(CALL_STYLES, calls, "calls").hasSpecialTokens;
  const server = { model, temperature, maxTokens, timeoutMs, apiKey };
  const resolved = await resolvePolicy(name, {
    ...server,
    tokenizer,
    keepSpecialTokens,
    recordsTokens: true,
  });
  if (resolved.isRemote) return resolved;
  throw new UsageError(
    `Cannot check policy '${name}' as it needs a server: give --policy ${SERVER_POLICIES}`,
  );
}

const CLEAR_LINE = "\r\x1b[K";

/** A line on stderr that shows the running chat, if stderr is a terminal. */
class StatusLine implements AsyncDisposable {
  readonly #sink = currentIo().stderr;
  readonly #queue = new TextQueue();

  show(text: string): void {
    if (this.#sink.isTerminal()) this.#queue.write(this.#sink, `${CLEAR_LINE}${text}`);
  }

  async clear(): Promise<void> {
    this.show("");
    await this.#queue.flush().catch(() => {}); // stderr is closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clear();
  }
}

const MARKS = { ok: ["✓", "\x1b[32m"], failed: ["✗", "\x1b[31m"], skipped: ["-", ""] } as const;
const PLAIN = "\x1b[0m";
const NAME_WIDTH = 25;

/** Formats the result of a chat as readable text. */
function formatCheck(check: ChatCheck, options: { colour: boolean }): string {
  const { chat, about, status, replies, promptTokens, sampledTokens, problem, reason } = check;
  const [mark, colour] = MARKS[status];
  const text = status === "skipped"
    ? `skipped: ${reason}`
    : `${about}: ${replies} ${
      replies === 1 ? "reply" : "replies"
    }, ${promptTokens} prompt tokens, ${sampledTokens} sampled tokens`;
  const line = escapeControls(`${mark} ${chat.padEnd(NAME_WIDTH)}${text}`);
  const shown = options.colour && colour !== "" ? `${colour}${line}${PLAIN}` : line;
  return [shown, ...(problem ? formatProblem(problem) : []), ""].join("\n");
}

const PROBLEMS = {
  prompt: "the server had another prompt",
  reply: "the sampled ids are not those of the text",
  log_probs: "log-probabilities",
  data: "token ids",
  server: "no reply",
  format: "template or tokenizer",
} as const;

function formatProblem(problem: TokenProblem): string[] {
  const { kind, reply, message, position, expectedId, serverId, expectedText, serverText } = problem;
  const start = `    reply ${reply}, ${PROBLEMS[kind]}`;
  if (expectedText === undefined || serverText === undefined) return [escapeControls(`${start}: ${message}`)];
  return [
    `${start}, first at token ${position}:`,
    `      expected  ${`${expectedId ?? "none"}`.padEnd(8)}in ${JSON.stringify(expectedText)}`,
    `      server    ${`${serverId ?? "none"}`.padEnd(8)}in ${JSON.stringify(serverText)}`,
  ].map((line) => escapeControls(line));
}

function formatConclusion({ ok, failure, chats, policy, tokenizer, template }: TokenReport): string {
  const names = escapeControls(`policy ${policy}, tokenizer ${tokenizer}, template ${template}`);
  const played = chats.filter(({ status }) => status !== "skipped");
  if (failure !== null && played.length === 0) return `\n${escapeControls(failure)}.\n`;
  if (failure !== null) return `\nThe tokens cannot be checked, as the first request failed.\n\n${SERVERS}`;
  if (ok) return `\nThe tokens can be trusted for training (${names}).\n`;
  const failed = played.filter(({ status }) => status === "failed").length;
  return `\nThe tokens cannot be trusted for training: ${failed} of ${played.length} chats failed (${names}).\n`;
}
