import type { Env } from "../../envs/env.ts";
import { RlmEnv } from "../../envs/rlm/rlm_env.ts";
import type { Grader } from "../../rewards/grader.ts";
import type { FamilyTasksOptions } from "../../families/tasks.ts";
import { familyEnv } from "../../rollout/family_env.ts";
import { makeChatEnv } from "../../rollout/make_chat_env.ts";
import type { SessionPool } from "../../sandbox/contract/pool.ts";
import type { Task } from "../../task.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import type { ToolSpec } from "../../message.ts";
import type { CodeToolNames } from "../../tools/code_mode/python_names.ts";
import type { AllowedCaller, Tool } from "../../tools/tool.ts";
import { ToolTransform, type ToolTransformOptions } from "../../transforms/tool_transform.ts";
import type { Transform } from "../../transforms/transform.ts";
import type { ToolCallParser } from "../../tools/parsers/tool_call_parser.ts";
import { type ENV_KINDS, FAMILY_ENVS } from "../../wire/v1_envs.ts";
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
  /**
   * Who may call the tools: the model, the code of Python blocks, or both.
   *
   * @default ["model"]
   */
  readonly toolCallers?: readonly AllowedCaller[] | undefined;
  /** Where code finds its tools. */
  readonly toolNames?: CodeToolNames | undefined;
  /** Call style: the format of tool calls in replies. */
  readonly calls: string;
  /** Name of the grader that scores a finished episode. */
  readonly grader?: string | undefined;
  readonly systemPrompt?: string | undefined;
  /**
   * Maximum number of replies of an episode.
   *
   * @default 8, or 30 if `env` is "rlm"
   */
  readonly maxTurns?: number | undefined;
  /**
   * Time limit of a block or call, in milliseconds.
   *
   * @default 10_000, or 600_000 if `env` is "rlm", as the time of a block includes its questions
   */
  readonly timeoutMs?: number | undefined;
  /** If true, blocks without a tag run in the env `python`. */
  readonly runUnlabeled?: boolean | undefined;
  /** If true, blocks inside thoughts run in the env `python`. */
  readonly runThoughts?: boolean | undefined;
  /** Problems of resets without a task, in the env of a family. */
  readonly problems?: FamilyTasksOptions | undefined;
  /** Tasks of resets without a task, in a cycle. */
  readonly tasks: readonly Task[];
}

const DEFAULT_TURNS = 8;
const DEFAULT_CALL_MS = 10_000;

/** Tools that run in a session of each episode. */
export interface ToolGroup {
  readonly specs: readonly ToolSpec[];
  /** Returns the transform of an env for the named tools. */
  makeTransform(options: Omit<ToolTransformOptions, "tools"> & { names: ReadonlySet<string> }): Transform;
}

/** Graders and tools that the server offers to envs. */
export interface EnvOffer {
  readonly graders: ReadonlyMap<string, () => Grader>;
  readonly tools: readonly Tool[];
  /** Files whose tools share their state in an episode. */
  readonly toolFiles: readonly ToolGroup[];
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
  if (config.env === "rlm") return makeRlmEnv(config, offer, pool);
  if (isFamilyKind(config.env)) return makeFamilyEnv(config, config.env, { offer, pool });
  if (config.problems !== undefined) throw invalid(`problems: an env of kind '${config.env}' has none`);
  const { env, systemPrompt, runUnlabeled, runThoughts, toolNames } = config;
  const { maxTurns = DEFAULT_TURNS, timeoutMs = DEFAULT_CALL_MS } = config;
  if (config.toolCallers?.includes("code") && env !== "python") {
    throw invalid(`toolCallers: an env of kind '${env}' runs no code that could call tools`);
  }
  const toolLimits = { timeoutMs };
  return makeChatEnv({
    systemPrompt,
    maxTurns,
    grader: graderOf(config, offer),
    tools: toolTransforms(config, offer),
    python: env === "python"
      ? { pool, timeoutMs, runUnlabeled, runThoughts, toolNames, toolLimits }
      : undefined,
  });
}

/** Makes a recursive language model, whose code has tools of its own. */
function makeRlmEnv(config: EnvConfig, offer: EnvOffer, pool: SessionPool): Env {
  const { systemPrompt, maxTurns, timeoutMs } = config;
  const given = RLM_WITHOUT.find((name) => config[name] !== undefined && config[name] !== false);
  if (given !== undefined) throw invalid(`${given}: an env of kind 'rlm' does not have it`);
  if ((offer.functions?.tools.length ?? 0) > 0) {
    throw invalid("clientTools: the code of an env of kind 'rlm' has tools of its own");
  }
  return new RlmEnv({ pool, grader: graderOf(config, offer), systemPrompt, maxTurns, timeoutMs });
}

/** Makes the env of a family, whose answers and shells run in sessions of the pool. */
function makeFamilyEnv(
  config: EnvConfig,
  name: (typeof FAMILY_ENVS)[number],
  { offer, pool }: { offer: EnvOffer; pool: SessionPool },
): Env {
  const { systemPrompt, maxTurns, calls, problems } = config;
  const given = [...RLM_WITHOUT, "timeoutMs" as const].find((name) => {
    return config[name] !== undefined && config[name] !== false;
  });
  if (given !== undefined) throw invalid(`${given}: an env of a family does not have it`);
  if ((offer.functions?.tools.length ?? 0) > 0) {
    throw invalid("clientTools: an env of a family has tools of its own");
  }
  const grader = graderOf(config, offer);
  return familyEnv(name, { ...problems, pool, grader, systemPrompt, maxTurns, parser: parserOf(calls) });
}

/** True for the env of a family, which makes its problems itself. */
export function isFamilyKind(env: EnvConfig["env"]): env is (typeof FAMILY_ENVS)[number] {
  return FAMILY_ENVS.some((name) => name === env);
}

/** Options that an env of kind `rlm` does not have. */
const RLM_WITHOUT = ["tools", "toolCallers", "toolNames", "runUnlabeled", "runThoughts"] as const;

function graderOf({ grader }: EnvConfig, offer: EnvOffer): Grader | undefined {
  return grader === undefined ? offer.functions?.grader : findGrader(grader, offer);
}

function toolTransforms(
  { env, calls, timeoutMs = DEFAULT_CALL_MS, toolCallers, ...config }: EnvConfig,
  offer: EnvOffer,
): Transform[] {
  const offered = namesOf(offer);
  const names = new Set(config.tools ?? (env === "tools" ? offered : []));
  const own = offer.functions?.tools ?? [];
  const count = names.size + own.length;
  if (env === "chat" && count > 0) throw invalid("tools: an env of kind 'chat' has no tools");
  if (env === "tools" && count === 0) throw invalid("env: this server has no tools");
  const parser = () => parserOf(calls);
  parser(); // an unknown style is refused, also without tools
  const unknown = [...names].find((name) => !offered.includes(name));
  if (unknown !== undefined) {
    throw invalid(`tools must be of ${offered.join(", ") || "(none): this server has no tools"}`);
  }
  const twice = own.find(({ name }) => names.has(name));
  if (twice !== undefined) {
    throw invalid(`clientTools: the server has a tool '${twice.name}' too: use another name`);
  }
  const tools = [...offer.tools.filter(({ name }) => names.has(name)), ...own];
  const groups = offer.toolFiles.filter(({ specs }) => specs.some(({ name }) => names.has(name)));
  const callOptions = () => ({ parser: parser(), timeoutMs, allowedCallers: toolCallers });
  return [
    ...tools.length === 0 ? [] : [new ToolTransform({ tools, ...callOptions() })],
    ...groups.map((group) => group.makeTransform({ names, ...callOptions() })),
  ];
}

function parserOf(calls: string): ToolCallParser {
  const style = Object.hasOwn(CALL_STYLES, calls) ? CALL_STYLES[calls] : undefined;
  if (style !== undefined) return style.parser();
  throw invalid(`calls must be one of ${Object.keys(CALL_STYLES).join(", ")}`);
}

function namesOf({ tools, toolFiles }: EnvOffer): string[] {
  return [...tools, ...toolFiles.flatMap(({ specs }) => specs)].map(({ name }) => name);
}

function findGrader(name: string, { graders }: EnvOffer): Grader {
  const make = graders.get(name);
  if (make !== undefined) return make();
  throw invalid(`grader must be one of ${[...graders.keys()].join(", ")}`);
}

function invalid(message: string): ServerError {
  return new ServerError("invalid", message);
}
