import * as z from "zod";
import { errorMessage, GraderError } from "../../errors.ts";
import { scoreSchema, toScoreResult } from "../../plugins/grader_file.ts";
import { plainMessages, plainTask } from "../../plugins/plugin_host.ts";
import { finalReplyOf } from "../../rewards/final_reply.ts";
import type { GradeContext, Grader } from "../../rewards/grader.ts";
import type { Tool } from "../../tools/tool.ts";
import { CLIENT_GRADER, type RolloutFunctions } from "../../wire/v1_rollouts.ts";
import type { CallAnswer, SessionToolSpec } from "../../wire/v1_tools.ts";
import { ServerError } from "../http/http_errors.ts";
import { type CallChannel, SessionTools } from "../sessions/session_tools.ts";

/** Functions of a rollout's client: tools that the policy may call, and a grader. They run in the client's process. */
export class ClientFunctions {
  readonly #calls: SessionTools;
  readonly #hasGrader: boolean;
  #channel: CallChannel | undefined;

  /** @throws {ServerError} `invalid` if a tool is invalid. */
  constructor({ clientTools = [], clientGrader }: RolloutFunctions) {
    const grader: SessionToolSpec[] = clientGrader === undefined ? [] : [{
      name: CLIENT_GRADER,
      description: "Scores an episode",
      parameters: { type: "object" },
      timeoutMs: clientGrader.timeoutMs,
    }];
    this.#hasGrader = clientGrader !== undefined;
    this.#calls = new SessionTools([...clientTools, ...grader]);
  }

  /** Sends calls to the client from now on. */
  connect(channel: CallChannel): void {
    this.#channel = channel;
  }

  /** The client's tools. */
  get tools(): Tool[] {
    return this.#calls.specs.filter(({ name }) => name !== CLIENT_GRADER).map((spec) => ({
      ...spec,
      checksItself: true, // within a bounded time
      run: (args, { signal }) => this.#run(spec.name, args, signal),
    }));
  }

  /** The client's grader, if there is a grader. */
  get grader(): Grader | undefined {
    if (!this.#hasGrader) return undefined;
    return { name: "client", grade: (context) => this.#grade(context) };
  }

  /**
   * Answers a call.
   *
   * @throws {ServerError} `not_found` if there was no such call; `conflict` if the call is answered or has ended.
   */
  async answer(callId: string, answer: CallAnswer): Promise<void> {
    await this.#calls.answer(callId, answer);
  }

  async #grade({ task, history, codeCalls = [], signal = new AbortController().signal }: GradeContext) {
    const plain = plainTask(task);
    const messages = plainMessages(history);
    const args = {
      completion: finalReplyOf(history),
      answer: task.answer ?? null,
      task: plain,
      messages,
      codeCalls,
    };
    let value: unknown;
    try {
      value = await this.#run(CLIENT_GRADER, args, signal);
    } catch (cause) {
      if (signal.aborted) throw cause;
      throw new GraderError(`Cannot grade with the client's grader: ${errorMessage(cause)}`, { cause });
    }
    const score = z.safeParse(scoreSchema, value);
    if (score.success) return toScoreResult(score.data);
    const found = JSON.stringify(value ?? null).slice(0, 80);
    throw new GraderError(
      `Cannot grade with the client's grader: it must return a number, null, or { score, parts?, reason? }: it returned ${found}`,
    );
  }

  async #run(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    const tool = this.#calls.toHostTools(this.#channel).find((tool) => tool.name === name);
    if (tool === undefined) throw new ServerError("not_found", `The client has no function '${name}'`);
    return await tool.run(args, { signal });
  }
}
