import type { Env } from "../../envs/env.ts";
import type { Grader } from "../../rewards/grader.ts";
import { makeChatEnv } from "../../rollout/make_chat_env.ts";
import type { SessionPool } from "../../sandbox/exec.ts";
import type { Task } from "../../task.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import type { Tool } from "../../tools/tool.ts";
import { ToolTransform } from "../../transforms/tool_transform.ts";
import type { Transform } from "../../transforms/transform.ts";
import type { ENV_KINDS } from "../../wire/v1_envs.ts";
import { ServerError } from "../http/http_errors.ts";

/** Configuration of an env. It names tools and graders of the server, never a file of the host. */
export interface EnvConfig {
  readonly env: (typeof ENV_KINDS)[number];
  /**
   * Names of the tools that may be called.
   *
   * @default all tools of the server if `env` is "tools", otherwise none
   */
  readonly tools?: readonly string[] | undefined;
  /** Call style: the format of tool calls in replies. */
  readonly calls: string;
  /** Name of the grader that scores a finished episode. */
  readonly grader?: string | undefined;
  readonly systemPrompt?: string | undefined;
  readonly maxTurns: number;
  /** Time limit of a block or call, in milliseconds. */
  readonly timeoutMs: number;
  /** If true, blocks without a tag run in the env `python`. */
  readonly runUnlabeled?: boolean | undefined;
  /** If true, blocks inside thoughts run in the env `python`. */
  readonly runThoughts?: boolean | undefined;
  /** Tasks of resets without a task, in a cycle. */
  readonly tasks: readonly Task[];
}

/** Graders and tools that the server offers to envs. */
export interface EnvOffer {
  readonly graders: ReadonlyMap<string, () => Grader>;
  readonly tools: readonly Tool[];
  /** Functions of the client. */
  readonly functions?: { readonly tools: readonly Tool[]; readonly grader: Grader | undefined } | undefined;
}

/**
 * Makes an env whose Python runs in sessions of the pool. An episode ends with a reply that calls nothing or at the
 * turn limit.
 *
 * @throws {ServerError} `invalid` if the config names an unknown tool, grader or call style.
 */
export function makeEnv(config: EnvConfig, offer: EnvOffer, pool: SessionPool): Env {
  const { env, systemPrompt, maxTurns, timeoutMs, runUnlabeled, runThoughts } = config;
  return makeChatEnv({
    systemPrompt,
    maxTurns,
    grader: config.grader === undefined ? offer.functions?.grader : findGrader(config.grader, offer),
    tools: toolTransforms(config, offer),
    python: env === "python" ? { pool, timeoutMs, runUnlabeled, runThoughts } : undefined,
  });
}

function toolTransforms({ env, calls, timeoutMs, ...config }: EnvConfig, offer: EnvOffer): Transform[] {
  const names = config.tools ?? (env === "tools" ? offer.tools.map(({ name }) => name) : []);
  const own = offer.functions?.tools ?? [];
  const count = names.length + own.length;
  if (env === "chat" && count > 0) throw invalid("tools: an env of kind 'chat' has no tools");
  if (env === "tools" && count === 0) throw invalid("env: this server has no tools");
  const style = Object.hasOwn(CALL_STYLES, calls) ? CALL_STYLES[calls] : undefined;
  if (style === undefined) throw invalid(`calls must be one of ${Object.keys(CALL_STYLES).join(", ")}`);
  if (count === 0) return [];
  const twice = own.find(({ name }) => names.includes(name));
  if (twice !== undefined) {
    throw invalid(`clientTools: the server has a tool '${twice.name}' too: use another name`);
  }
  const tools = [...[...new Set(names)].map((name) => findTool(name, offer)), ...own];
  return [new ToolTransform({ tools, parser: style.parser(), timeoutMs })];
}

function findTool(name: string, { tools }: EnvOffer): Tool {
  const found = tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  throw invalid(
    `tools must be of ${tools.map((tool) => tool.name).join(", ") || "(none): this server has no tools"}`,
  );
}

function findGrader(name: string, { graders }: EnvOffer): Grader {
  const make = graders.get(name);
  if (make !== undefined) return make();
  throw invalid(`grader must be one of ${[...graders.keys()].join(", ")}`);
}

function invalid(message: string): ServerError {
  return new ServerError("invalid", message);
}
