import { requireKnownOptions } from "../../options.ts";
import type { Env } from "../../envs/env.ts";
import type { EnvFile } from "../../plugins/env_file.ts";
import { makeFileEnvParts } from "../../plugins/file_env_parts.ts";
import type { Grader } from "../../rewards/grader.ts";
import type { SessionPool } from "../../sandbox/contract/pool.ts";
import type { CodeToolNames } from "../../tools/code_mode/python_names.ts";
import type { ToolCallParser } from "../../tools/parsers/tool_call_parser.ts";
import { makeChatEnv, type MakeChatEnvOptions } from "./make_chat_env.ts";

/** Options of {@linkcode fileEnv}. */
export interface FileEnvOptions
  extends Partial<Omit<MakeChatEnvOptions, "python" | "answer" | "grading" | "maxTurns">> {
  /** Interpreters for Python blocks of replies. An env with `python` needs them. The caller disposes the pool. */
  pool?: SessionPool | undefined;
  /**
   * Maximum run time of a code block or a call of a tool, in milliseconds.
   * @default 2_000
   */
  timeoutMs?: number | undefined;
  /**
   * Maximum number of replies.
   * @default 8
   */
  maxTurns?: number | undefined;
  /** Parser of the calls in a reply. */
  parser?: ToolCallParser | undefined;
  /**
   * Scores episodes.
   * @default `reward` of the file
   */
  grader?: Grader | undefined;
  /** Where code finds the tools that `tools` share with code. */
  toolNames?: CodeToolNames | undefined;
  /** Runs code blocks without a language too. */
  runUnlabeled?: boolean | undefined;
  /** Runs code blocks inside thoughts too. */
  runThoughts?: boolean | undefined;
}

/**
 * Makes an env of a file, for one episode at a time: a chat with the file's tools, steps and reward. The caller disposes
 * the file.
 *
 * @throws {TypeError} if the file runs Python and there is no pool.
 */
export function fileEnv(file: EnvFile, options: FileEnvOptions = {}): Env {
  requireKnownOptions("call fileEnv", options, OPTIONS);
  const { pool, timeoutMs = 2_000, maxTurns = 8, parser, tools = [], ...others } = options;
  const { toolNames, runUnlabeled, runThoughts, ...rest } = others;
  const { name, python, system } = file.description;
  if (python && pool === undefined) {
    throw new TypeError(`Cannot make env '${name}' as it runs Python blocks: 'pool' is missing`);
  }
  const parts = makeFileEnvParts(file, { parser, timeoutMs });
  return makeChatEnv({
    systemPrompt: system,
    ...rest,
    maxTurns,
    tools: [parts.episode, ...tools],
    python: python && pool !== undefined
      ? { pool, timeoutMs, runUnlabeled, runThoughts, toolNames, toolLimits: { timeoutMs } }
      : undefined,
    answer: parts.answer,
    grading: parts.grading,
  });
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof FileEnvOptions, true>> = {
  pool: true,
  timeoutMs: true,
  maxTurns: true,
  parser: true,
  grader: true,
  toolNames: true,
  runUnlabeled: true,
  runThoughts: true,
  tokenizer: true,
  tools: true,
  systemPrompt: true,
  extensions: true,
};
