import type { Env } from "../envs/env.ts";
import type { Grader } from "../rewards/grader.ts";
import { makeChatEnv } from "../rollout/make_chat_env.ts";
import type { SessionPool } from "../sandbox/exec.ts";
import type { Task } from "../task.ts";
import { CALL_STYLES } from "../tools/call_styles.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolTransform } from "../transforms/tool_transform.ts";
import type { Transform } from "../transforms/transform.ts";
import type { ENV_KINDS } from "../wire/v1_envs.ts";
import { ServerError } from "./server_error.ts";

/** What an env is made of, by the names of what the server offers; nothing in it names a file of the host. */
export interface EnvConfig {
  readonly env: (typeof ENV_KINDS)[number];
  /** The tools that may be called; in `tools` all that are served, else none, unless given. */
  readonly tools?: readonly string[] | undefined;
  /** How calls are written. */
  readonly calls: string;
  /** Who scores an episode that is over; nobody unless given. */
  readonly grader?: string | undefined;
  readonly systemPrompt?: string | undefined;
  readonly maxTurns: number;
  /** Milliseconds that a block, or a call, may take. */
  readonly timeoutMs: number;
  /** What is asked, one after the other and over again, by resets that bring no task. */
  readonly tasks: readonly Task[];
}

/** What envs may be made of. */
export interface EnvOffer {
  readonly graders: ReadonlyMap<string, () => Grader>;
  readonly tools: readonly Tool[];
}

/**
 * Makes an env, whose Python runs in sessions of the pool. It ends an episode with a reply that calls nothing, or
 * at the limit of its turns.
 *
 * @throws {ServerError} `invalid` when it names what is not there.
 */
export function makeEnv(config: EnvConfig, offer: EnvOffer, pool: SessionPool): Env {
  const { env, systemPrompt, maxTurns, timeoutMs } = config;
  return makeChatEnv({
    systemPrompt,
    maxTurns,
    grader: config.grader === undefined ? undefined : chosenGrader(config.grader, offer),
    tools: toolTransforms(config, offer),
    python: env === "python" ? { pool, timeoutMs } : undefined,
  });
}

function toolTransforms({ env, calls, timeoutMs, ...config }: EnvConfig, offer: EnvOffer): Transform[] {
  const names = config.tools ?? (env === "tools" ? offer.tools.map(({ name }) => name) : []);
  if (env === "chat" && names.length > 0) throw invalid("tools: an env of kind chat calls none");
  if (env === "tools" && names.length === 0) throw invalid("env: no tools are served here");
  const style = Object.hasOwn(CALL_STYLES, calls) ? CALL_STYLES[calls] : undefined;
  if (style === undefined) throw invalid(`calls must be one of ${Object.keys(CALL_STYLES).join(", ")}`);
  if (names.length === 0) return [];
  const tools = [...new Set(names)].map((name) => chosenTool(name, offer));
  return [new ToolTransform({ tools, parser: style.parser(), timeoutMs })];
}

function chosenTool(name: string, { tools }: EnvOffer): Tool {
  const found = tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  throw invalid(`tools must be of ${tools.map((tool) => tool.name).join(", ") || "none, as none is served"}`);
}

function chosenGrader(name: string, { graders }: EnvOffer): Grader {
  const make = graders.get(name);
  if (make !== undefined) return make();
  throw invalid(`grader must be one of ${[...graders.keys()].join(", ")}`);
}

function invalid(message: string): ServerError {
  return new ServerError("invalid", message);
}
