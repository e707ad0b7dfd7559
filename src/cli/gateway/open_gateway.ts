import type { Tokenizer } from "../../chat/tokenizer.ts";
import { Gateway } from "../../gateway/gateway.ts";
import type { GatewayOptions } from "../../gateway/gateway_options.ts";
import {
  type ModelSampler,
  modelSampler,
  type ModelSamplerOptions,
} from "../../gateway/model/model_sampler.ts";
import { CALL_SYNTAXES } from "../../gateway/grammar/call_syntaxes.ts";
import type { RewrittenMode } from "../../gateway/session/session_options.ts";
import { GraderPool } from "../../rewards/worker/grader_pool.ts";
import { TokenFormat } from "../../rollout/tokens/token_format.ts";
import type { TokenMode } from "../../rollout/tokens/turn_writers.ts";
import { CALL_STYLES, type CallStyle } from "../../tools/parsers/call_styles.ts";
import { JournalFolder, JournalInUseError } from "../../gateway/state/session_journal.ts";
import { rethrowAsUsageError, UnavailableError, UsageError } from "../cli_errors.ts";
import { resolveTokenizer } from "../input.ts";
import { currentIo } from "../io.ts";
import { lookUp } from "../options.ts";
import { logError } from "../serve/listening.ts";
import { type GatewayGraderOptions, openGatewayGraders } from "./gateway_graders.ts";
import { RowFile } from "./row_file.ts";

/** What a gateway needs, of the options of a command. */
export interface GatewayFlags {
  /** Model server: `sglang:URL` or `openai:URL`. */
  readonly policy?: string | undefined;
  readonly model?: string | undefined;
  /** Folder of the tokenizer. */
  readonly tokenizer?: string | undefined;
  /** @default "openai" */
  readonly calls?: string | undefined;
  readonly tokenMode?: TokenMode | undefined;
  readonly rewritten?: RewrittenMode | undefined;
  readonly contextLength?: number | undefined;
  readonly temperature?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly concurrency?: number | undefined;
  /** Seconds that one reply may take. */
  readonly timeout?: number | undefined;
  readonly idleTimeout?: number | undefined;
  /** MiB. */
  readonly sessionMemory?: number | undefined;
  readonly out?: string | undefined;
  /** Folder of the journals of sessions. */
  readonly stateDir?: string | undefined;
  /** Files with graders. */
  readonly graderFile?: readonly string[] | undefined;
}

/** Options of {@linkcode openGateway}. */
export interface OpenGatewayOptions
  extends Pick<GatewayOptions, "sandboxes" | "metrics">, Omit<GatewayGraderOptions, "stack"> {
  /** Closes the gateway, and then its file. */
  readonly stack: AsyncDisposableStack;
  /** Number of owners. */
  readonly owners: number;
}

const MIB = 1024 * 1024;

/** Says at the start if the rows of a gateway cannot be trained on; the empty text otherwise. */
export function evaluationNote({ isEvaluation }: Gateway): string {
  return isEvaluation
    ? "For evaluation only: the model server returns no token ids, so that rows have no tokens to train on\n"
    : "";
}

/**
 * Opens the gateway that the options of a command describe.
 *
 * @throws {UsageError} if an option is wrong, or the template of the tokenizer cannot be written in the mode.
 */
export async function openGateway(
  flags: GatewayFlags,
  { stack, owners, sandboxes, metrics, ...graders }: OpenGatewayOptions,
): Promise<Gateway> {
  const { calls = "openai", tokenMode: mode = "append", temperature, maxTokens } = flags;
  const style = lookUp(CALL_STYLES, calls, "call style");
  const server = serverOf(flags);
  const format = server.api === "chat"
    ? refuseTokenizer(flags.tokenizer)
    : await openFormat(flags.tokenizer, { mode });
  const sampler = await rethrowAsUsageError(() =>
    samplerOf(flags, { server, style, endOfTurn: format?.chat.endTokens[0] })
  );
  const file = flags.out === undefined ? undefined : await RowFile.open(flags.out, { onError: logError });
  if (file !== undefined) stack.use(file);
  const journals = flags.stateDir === undefined ? undefined : stack.use(await openJournals(flags.stateDir));
  const gateway = stack.use(
    new Gateway({
      sampler,
      parser: style.parser(),
      callSyntax: CALL_SYNTAXES[calls],
      format,
      mode,
      rewritten: flags.rewritten,
      contextTokens: flags.contextLength,
      sampling: {
        ...(temperature !== undefined && { temperature }),
        ...(maxTokens !== undefined && { maxTokens }),
      },
      idleMs: seconds(flags.idleTimeout),
      bytes: flags.sessionMemory === undefined ? undefined : flags.sessionMemory * MIB,
      owners,
      sandboxes,
      metrics,
      onError: logError,
      graders: await openGatewayGraders(flags.graderFile ?? [], { stack, ...graders }),
      graderPool: stack.use(new GraderPool()),
      onRows: file && ((rows) => file.add(rows)),
      journals,
    }),
  );
  await gateway.restore({ onError: logError });
  return gateway;
}

/**
 * @throws {UnavailableError} if another gateway uses the folder.
 * @throws {UsageError} if the folder cannot be used.
 */
async function openJournals(path: string): Promise<JournalFolder> {
  try {
    return await JournalFolder.open(path);
  } catch (cause) {
    const { message } = cause as Error;
    if (cause instanceof JournalInUseError) throw new UnavailableError(message, { cause });
    throw new UsageError(`Cannot use the folder '${path}' of --state-dir: ${message}`, { cause });
  }
}

/** @throws {UsageError} if the tokenizer is missing, or its template cannot be written in the mode. */
async function openFormat(folder: string | undefined, { mode }: { mode: TokenMode }): Promise<TokenFormat> {
  const tokenizer = await requireTokenizer(folder);
  return await rethrowAsUsageError(() => {
    const format = new TokenFormat({ tokenizer });
    format.requireWritable({ mode, onRewrite: mode === "append" ? "keep" : "error" });
    return format;
  });
}

/** A server that gets messages has the tokenizer itself. */
function refuseTokenizer(folder: string | undefined): undefined {
  if (folder === undefined) return;
  throw new UsageError(
    "Cannot use --tokenizer as openai-chat:URL gets messages: give sglang:URL or openai:URL",
  );
}

async function requireTokenizer(folder: string | undefined): Promise<Tokenizer> {
  const tokenizer = await resolveTokenizer(folder);
  if (tokenizer !== undefined) return tokenizer;
  throw new UsageError("Cannot open gateway without the tokenizer of the model: give --tokenizer DIR");
}

function samplerOf(
  flags: GatewayFlags,
  { server, style, endOfTurn }: {
    server: ReturnType<typeof serverOf>;
    style: CallStyle;
    endOfTurn: string | undefined;
  },
): ModelSampler {
  return modelSampler({
    ...server,
    apiKey: currentIo().env.get("OPENAI_API_KEY") || undefined,
    keepsSpecialTokens: style.hasSpecialTokens,
    endOfTurn,
    concurrency: flags.concurrency,
    timeoutMs: seconds(flags.timeout),
  });
}

/** Returns the model server that a policy names. */
function serverOf({ policy, model }: GatewayFlags): Pick<ModelSamplerOptions, "api" | "url" | "model"> {
  if (policy === undefined) {
    throw new UsageError(
      "Cannot open gateway without a model server: give --policy sglang:URL or openai:URL",
    );
  }
  const [, api, url] = /^(sglang|openai|openai-chat):(https?:\/\/.+)$/.exec(policy) ?? [];
  if (url === undefined) {
    throw new UsageError(
      `Cannot open gateway as its policy must be sglang:URL or openai:URL, of a server that returns token ids, or ` +
        `openai-chat:URL for evaluation: ` +
        `current value is '${policy}'`,
    );
  }
  if (api === "sglang") return { api, url, model: model ?? "sglang" };
  if (model !== undefined) return { api: api === "openai" ? "openai" : "chat", url, model };
  throw new UsageError(
    "Cannot open gateway as the policy 'openai' needs the name of the model: give --model NAME",
  );
}

function seconds(value: number | undefined): number | undefined {
  return value === undefined ? undefined : value * 1000;
}
