import { crossBoundary } from "../boundary.ts";
import { ParserError } from "../errors.ts";
import { History } from "../history.ts";
import type { Message } from "../message.ts";
import type { Task } from "../task.ts";
import type { ToolSpec } from "../tool_spec.ts";
import type { ParsedMessage, ToolCallParser } from "../tools/tool_call_parser.ts";
import type { ToolResult } from "../tools/tool_result.ts";
import type { Action, Env, Observation, ResetOptions, Step, StepOptions } from "./env.ts";
import { fullHistory } from "./full_history.ts";
import { chosenAction, otherCalls } from "./tool_user_action.ts";
import { RESPOND, type ToolUserAction, type ToolUserEnv, type ToolUserStep } from "./tool_user_env.ts";

/** How a {@linkcode ToolUserChat} reads replies. */
export interface ToolUserChatOptions {
  /** How calls are written. */
  toolCalls: ToolCallParser;
}

/** The key of a task's `fields` that says which of the env's tasks it is. */
const INDEX = "taskIndex";

/**
 * An env with tools and a user, played as a chat: the wiki is the system message, the user's words are the user's,
 * and a reply calls a tool or is told to the user.
 *
 * Of several calls in one reply the first is run, and the others are recorded as refused. A call of a tool that
 * there is not, or one that cannot be read, counts as text. It owns the env.
 */
export class ToolUserChat implements Env {
  readonly #env: ToolUserEnv;
  readonly #parser: ToolCallParser;
  readonly #tools: readonly ToolSpec[];
  #observation: Observation | undefined;

  constructor(env: ToolUserEnv, options: ToolUserChatOptions) {
    this.#env = env;
    this.#parser = options.toolCalls;
    this.#tools = env.toolsInfo.map(({ function: tool }) => tool);
  }

  /** @throws {RangeError} when the task is none of {@linkcode toolUserTask}, or the env has no such task. */
  async reset(task: Task, options: ResetOptions = {}): Promise<Observation> {
    this.#observation = undefined;
    const index = task.fields?.[INDEX];
    if (typeof index !== "number") {
      throw new RangeError(
        `Cannot reset env '${this.#env.name}' as the task must have a number as '${INDEX}' among its fields: ` +
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
      throw new Error("Cannot step as no episode is going on: reset the env first");
    }
    const said = fullHistory(before.history.prompt, action);
    const reply = said.last;
    if (reply?.role !== "assistant") throw new TypeError("Cannot step as the assistant must have spoken");
    const parsed = await this.#parse(reply);
    const names = new Set(this.#tools.map(({ name }) => name));
    const chosen = chosenAction(parsed, reply, names);
    const startMs = performance.now();
    const step = await this.#env.step(chosen.action, options);
    const durationMs = performance.now() - startMs;
    const ran = chosen.call === undefined ? [] : [runResult(chosen.action, chosen.call, step, durationMs)];
    const { observation, reward, rewardParts, done, info } = step;
    const prompt = said.append(answer(chosen.action, observation));
    const seen = { ...before, history: { prompt }, info };
    this.#observation = done ? undefined : seen;
    return {
      ...seen,
      reward,
      ...(rewardParts && { rewardParts }),
      terminated: done,
      truncated: false,
      toolResults: [...ran, ...otherCalls(parsed, chosen.call, names)],
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#env[Symbol.asyncDispose]());
  }

  async #parse(reply: Message): Promise<ParsedMessage> {
    return await crossBoundary(() => this.#parser.parse(reply), {
      error: ParserError,
      failure: "Cannot read the calls of a reply",
    });
  }
}

/** The task of a {@linkcode ToolUserChat} that plays one of its env's. */
export function toolUserTask(env: Pick<ToolUserEnv, "name">, taskIndex: number): Task {
  return { id: `${env.name}/${taskIndex}`, query: "", fields: { [INDEX]: taskIndex } };
}

function answer({ name }: ToolUserAction, content: string): Message {
  return name === RESPOND ? { role: "user", content } : { role: "tool", name, content };
}

function runResult(
  { name, kwargs }: ToolUserAction,
  call: number,
  { observation: text }: ToolUserStep,
  durationMs: number,
): ToolResult {
  const status = text.startsWith("Error: ") ? "error" : "ok";
  const callId = `call_${call}`;
  return { tool: name, call, callId, status, text, durationMs, truncated: false, arguments: kwargs };
}
