import type { SubCall } from "../../envs/rlm/recursive_env.ts";
import { ToolError } from "../../errors.ts";
import { MAX_TOOL_TIMEOUT_MS } from "../../wire/limits.ts";
import type { CallAnswer } from "../../wire/v1_tools.ts";
import { type CallChannel, SessionTools } from "../sessions/session_tools.ts";

/** Name of the calls with which code asks: the event `call` has it as its `name`. */
const QUESTION = "llm_query";

const SPEC = {
  name: QUESTION,
  description: "Asks the model",
  parameters: { type: "object" },
  timeoutMs: MAX_TOOL_TIMEOUT_MS,
};

/** Sends the questions of an env's code to the client, whose policy it is, and receives the answers. */
export class EnvQuestions {
  readonly #calls = new SessionTools([SPEC]);
  #channel: CallChannel | undefined;

  /** Sends questions to a client until it is disposed. Steps of an env run in turn. */
  connect(channel: CallChannel): Disposable {
    this.#channel = channel;
    return { [Symbol.dispose]: () => this.#channel = undefined };
  }

  /** Asks the client. @throws {ToolError} if its answer is no text. */
  async ask({ prompt, number, turn, signal }: SubCall): Promise<string> {
    const [tool] = this.#calls.toHostTools(this.#channel);
    const reply = await tool?.run({ prompt, number, turn }, { signal });
    if (typeof reply === "string") return reply;
    throw new ToolError("the client's answer to the question must be a text");
  }

  /**
   * Answers a question.
   *
   * @throws {ServerError} `not_found` if there was no such question; `conflict` if it is answered or has ended.
   */
  async answer(callId: string, answer: CallAnswer): Promise<void> {
    await this.#calls.answer(callId, answer);
  }
}
