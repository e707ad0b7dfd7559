import { requireKnownOptions } from "../options.ts";
import {
  type EpisodeCheckpointOptions,
  type EpisodeForkOptions,
  forkEpisode,
  refuseCheckpoint,
} from "../episode_checkpoint.ts";
import { ArgumentRangeError, ArgumentTypeError, attributeErrors, ParserError } from "../errors.ts";
import { History } from "../history.ts";
import { type Message, messageText, type ToolSpec } from "../message.ts";
import type { Task } from "../task.ts";
import type { ParsedMessage, ToolCallParser } from "../tools/parsers/tool_call_parser.ts";
import type { ToolResult } from "../tools/tool_result.ts";
import { typedArguments } from "../tools/typed_arguments.ts";
import { type Action, historyAfter, requireAction } from "./action.ts";
import type { BranchingEnv, EnvCheckpoint } from "./branching_env.ts";
import { withCallsInThoughts } from "./tool_step.ts";
import type { EnvResetOptions, Observation, Step, StepOptions } from "./env.ts";
import {
  RESPOND,
  respondAction,
  type ToolUserAction,
  type ToolUserEnv,
  type ToolUserStep,
} from "./tool_user_env.ts";

/** Options of {@linkcode ToolUserChat}. */
export interface ToolUserChatOptions {
  /** Parser of the tool calls in a reply. */
  toolCalls: ToolCallParser;
}

/** Key of a task's `fields` that holds the index of the env's task. */
const INDEX_KEY = "taskIndex";

/**
 * Plays a {@linkcode ToolUserEnv} as a chat: the wiki is the system message, the simulated user writes the user
 * messages, and a reply either calls a tool or goes to the user.
 *
 * Only the first of several calls in a reply runs; the others are recorded as refused. A call of an unknown tool,
 * or one that cannot be parsed, counts as text. The chat owns the env and disposes it.
 *
 * @example
 * ```ts
 * import { ToolUserChat, type ToolUserEnv, toolUserTask } from "@paddock/paddock/tau-bench";
 * import { qwen25Calls } from "@paddock/paddock/tools";
 *
 * async function startEpisode(env: ToolUserEnv) {
 *   const chat = new ToolUserChat(env, { toolCalls: qwen25Calls() });
 *   return { chat, observation: await chat.reset(toolUserTask(env, 0)) };
 * }
 * ```
 */
export class ToolUserChat implements BranchingEnv {
  readonly #env: ToolUserEnv;
  readonly #parser: ToolCallParser;
  readonly #tools: readonly ToolSpec[];
  #observation: Observation | undefined;

  constructor(env: ToolUserEnv, options: ToolUserChatOptions) {
    requireKnownOptions("create ToolUserChat", options, { toolCalls: true });
    this.#env = env;
    this.#parser = options.toolCalls;
    this.#tools = env.toolsInfo.map(({ function: tool }) => tool);
  }

  /** @throws {RangeError} if the task was not made by {@linkcode toolUserTask}, or the env has no such task. */
  async reset(task: Task, options: EnvResetOptions = {}): Promise<Observation> {
    this.#observation = undefined;
    const index = task.fields?.[INDEX_KEY];
    if (typeof index !== "number") {
      throw new ArgumentRangeError(
        `Cannot reset env '${this.#env.name}' as the task's field '${INDEX_KEY}' must be a number: ` +
          `current value is ${index}`,
      );
    }
    const { observation, info } = await this.#env.reset(index, options);
    const prompt = History.fromChats([
      { role: "system", content: this.#env.wiki },
      { role: "user", content: observation },
    ]);
    return this.#observation = { task, history: { prompt }, tools: this.#tools, info };
  }

  async step(action: Action, options: StepOptions = {}): Promise<Step> {
    const before = this.#observation;
    if (before === undefined) {
      throw new Error("Cannot step as no episode is running: call reset() first");
    }
    requireAction(action);
    const history = historyAfter(before.history.prompt, action);
    const reply = history.last;
    if (reply?.role !== "assistant") {
      throw new ArgumentTypeError(
        `Cannot step as the last message must be the assistant's: its role is '${reply?.role}'`,
      );
    }
    const parsed = withTypedArguments(await this.#parse(reply), this.#tools);
    const names = new Set(this.#tools.map(({ name }) => name));
    const chosen = chooseAction(parsed, reply, names);
    const startMs = performance.now();
    const step = await this.#env.step(chosen.action, options);
    const durationMs = performance.now() - startMs;
    const executed = chosen.call === undefined
      ? []
      : [toolResultOf(chosen.action, chosen.call, step, durationMs)];
    const { observation, reward, rewardParts, done, info } = step;
    const prompt = history.append(messageOf(chosen.action, observation));
    const next = { ...before, history: { prompt }, info };
    this.#observation = done ? undefined : next;
    return withCallsInThoughts({
      ...next,
      reward,
      ...(rewardParts && { rewardParts }),
      terminated: done,
      truncated: false,
      toolResults: [...executed, ...recordOtherCalls(parsed, chosen.call, names)],
    }, parsed.callsInThoughts ?? 0);
  }

  /** {@inheritDoc BranchingEnv.checkpoint} */
  async checkpoint(options?: EpisodeCheckpointOptions): Promise<EnvCheckpoint> {
    const observation = this.#observation;
    const state = await this.#env.checkpoint?.(options) ??
      refuseCheckpoint(`the env '${this.#env.name}' must have a method 'checkpoint': it has none`);
    return {
      copy: async (options) => {
        const copy = new ToolUserChat(await state.copy(options), { toolCalls: this.#parser });
        copy.#observation = observation;
        return copy;
      },
    };
  }

  /** {@inheritDoc BranchingEnv.fork} */
  async fork(count: number, options?: EpisodeForkOptions): Promise<BranchingEnv[]> {
    return await forkEpisode(count, () => this.checkpoint(options), options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#env[Symbol.asyncDispose]());
  }

  async #parse(reply: Message): Promise<ParsedMessage> {
    return await attributeErrors(() => this.#parser.parse(reply), {
      error: ParserError,
      failure: "Cannot parse the tool calls of a reply",
    });
  }
}

/** Returns the task that makes a {@linkcode ToolUserChat} play the env's task with this index. */
export function toolUserTask(env: Pick<ToolUserEnv, "name">, taskIndex: number): Task {
  return { id: `${env.name}/${taskIndex}`, query: "", fields: { [INDEX_KEY]: taskIndex } };
}

function messageOf({ name }: ToolUserAction, content: string): Message {
  return name === RESPOND ? { role: "user", content } : { role: "tool", name, content };
}

function toolResultOf(
  { name, kwargs }: ToolUserAction,
  call: number,
  { observation: text }: ToolUserStep,
  durationMs: number,
): ToolResult {
  const status = text.startsWith("Error: ") ? "error" : "ok";
  const callId = `call_${call}`;
  return { tool: name, call, callId, status, text, durationMs, truncated: false, arguments: kwargs };
}

/** Action that a reply stands for. */
export interface ChosenAction {
  readonly action: ToolUserAction;
  /** Number of the call in the reply, from 1; left out if the reply goes to the user. */
  readonly call?: number;
}

/**
 * Chooses the action of a reply, as slime's `call_to_action_sglang` does.
 *
 * The action is the first call of a known tool. Without such a call, the whole reply goes to the user. If the
 * arguments of that call are not an object, the text beside the calls goes to the user.
 */
function chooseAction(
  { text, calls }: ParsedMessage,
  reply: Message,
  names: ReadonlySet<string>,
): ChosenAction {
  const at = calls.findIndex(({ name }) => names.has(name));
  const call = calls[at];
  if (call === undefined) return { action: respondAction(messageText(reply)) };
  if (call.fault !== undefined) return { action: respondAction(text) };
  const { name, arguments: kwargs, argumentsText: kwargsText } = call;
  return { action: { name, kwargs, ...(kwargsText !== undefined && { kwargsText }) }, call: at + 1 };
}

/** Gives the texts of calls that have only texts the types of their tools' schemas. */
function withTypedArguments({ calls, ...parsed }: ParsedMessage, tools: readonly ToolSpec[]): ParsedMessage {
  const typed = calls.map((call) => {
    const tool = call.hasTextArguments ? tools.find(({ name }) => name === call.name) : undefined;
    return tool === undefined
      ? call
      : { ...call, arguments: typedArguments(call.arguments, tool.parameters) };
  });
  return { ...parsed, calls: typed };
}

/** Returns the records of the calls that were not run. */
function recordOtherCalls(
  { calls }: ParsedMessage,
  executed: number | undefined,
  names: ReadonlySet<string>,
): ToolResult[] {
  return calls.flatMap(({ name, arguments: args, fault, callId }, at) => {
    const call = at + 1;
    if (call === executed) return [];
    const text = fault ??
      (names.has(name) ? "one call of a reply is run: the first" : "there is no such tool");
    const status = fault !== undefined ? "bad_arguments" : names.has(name) ? "refused" : "unknown_tool";
    const id = callId ?? `call_${call}`;
    return [{ tool: name, call, callId: id, status, text, durationMs: 0, truncated: false, arguments: args }];
  });
}
