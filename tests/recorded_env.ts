import {
  RESPOND,
  type ToolInfo,
  type ToolUserAction,
  type ToolUserEnv,
  type ToolUserStep,
} from "../src/envs/tool_user_env.ts";
import { USER_STOP } from "../src/users/user_simulator.ts";

/** The recording that a {@linkcode RecordedEnv} replays. */
export interface Recording {
  wiki?: string;
  toolsInfo?: readonly ToolInfo[];
  /** The user's first message. */
  hello?: string;
  /** The result of each step, in order; an `Error` is thrown. */
  observations: readonly (string | Error)[];
  /** Reward at the end of the episode. */
  reward?: number;
  rewardParts?: Record<string, number | null>;
  /** The task in `info`. */
  task?: unknown;
  /** Additional fields of `info` at the end of the episode. */
  ending?: Readonly<Record<string, unknown>>;
}

/** An env that replays a recording for any actions, and records the actions. */
export class RecordedEnv implements ToolUserEnv {
  readonly name = "recorded/test";
  readonly taskCount = 3;
  readonly rules = [];
  readonly terminateTools = ["transfer_to_human_agents"];
  readonly wiki: string;
  readonly toolsInfo: readonly ToolInfo[];
  readonly actions: ToolUserAction[] = [];
  readonly #recording: Recording;
  disposed = 0;

  constructor(recording: Recording) {
    this.wiki = recording.wiki ?? "Be kind.";
    this.toolsInfo = recording.toolsInfo ?? ["search", "transfer_to_human_agents"].map(toolInfo);
    this.#recording = recording;
  }

  reset: ToolUserEnv["reset"] = (taskIndex) => {
    this.actions.length = 0;
    return Promise.resolve({
      observation: this.#recording.hello ?? "Hi",
      info: { task: this.#recording.task ?? { index: taskIndex }, source: "user" },
    });
  };

  step: ToolUserEnv["step"] = (action): Promise<ToolUserStep> => {
    const observation = this.#recording.observations[this.actions.length];
    this.actions.push(action);
    if (observation === undefined) return Promise.reject(new Error("the recording is over"));
    if (typeof observation !== "string") return Promise.reject(observation);
    const { reward = 0, rewardParts, ending } = this.#recording;
    const isUser = action.name === RESPOND;
    const done = isUser ? observation.includes(USER_STOP) : this.terminateTools.includes(action.name);
    return Promise.resolve({
      observation,
      reward: done ? reward : 0,
      ...(done && rewardParts && { rewardParts }),
      done,
      info: { source: isUser ? "user" : action.name, ...(done && ending) },
    });
  };

  [Symbol.asyncDispose](): Promise<void> {
    this.disposed++;
    return Promise.resolve();
  }
}

/** A tool without arguments. */
export function toolInfo(name: string): ToolInfo {
  const parameters = { type: "object", properties: {}, required: [] };
  return { type: "function", function: { name, description: `Does ${name}.`, parameters } };
}
