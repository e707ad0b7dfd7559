import * as z from "zod";
import { Semaphore } from "../../async/semaphore.ts";
import { ToolError } from "../../errors.ts";
import { type Tool, tool } from "../../tools/tool.ts";
import type { AnswerSubCall } from "./recursive_env.ts";

/** Limits of the questions of an episode. */
export interface SubCallLimits {
  /** Number of questions. */
  readonly maxSubCalls: number;
  /** Length of a question, in characters. */
  readonly promptCharacters: number;
  /** Number of questions that are answered at the same time. */
  readonly concurrency: number;
}

/** The final answer of an episode. */
export interface FinalAnswer {
  /** The answer as `str()` of Python shows it. */
  readonly text: string;
  /** The answer as a value of JSON, if the answer is such a value. */
  readonly value?: unknown;
}

/** The questions that code of an episode asks, and the final answer. */
export class SubCalls {
  readonly #answer: AnswerSubCall | undefined;
  readonly #limits: SubCallLimits;
  readonly #slots: Semaphore;
  #count = 0;
  #final: FinalAnswer | undefined;

  constructor(answer: AnswerSubCall | undefined, limits: SubCallLimits) {
    this.#answer = answer;
    this.#limits = limits;
    this.#slots = new Semaphore(limits.concurrency);
  }

  /** Number of questions so far. */
  get count(): number {
    return this.#count;
  }

  /** The first final answer that code gave. */
  get final(): FinalAnswer | undefined {
    return this.#final;
  }

  /** Returns the tools of the code of a turn. */
  tools(turn: number): Tool[] {
    return [
      tool({
        name: "llm_query",
        description: "Asks the model a question.",
        parameters: z.object({ prompt: z.string() }),
        run: async ({ prompt }, { signal }) => (await this.#ask([prompt], turn, signal))[0],
      }),
      tool({
        name: "llm_query_batched",
        description: "Asks the model several questions at the same time.",
        parameters: z.object({ prompts: z.array(z.string()) }),
        run: ({ prompts }, { signal }) => this.#ask(prompts, turn, signal),
      }),
      tool({
        name: "final_answer",
        description: "Gives the final answer.",
        parameters: z.object({ text: z.string(), value: z.unknown().optional() }),
        run: (answer) => {
          this.#final ??= answer;
          return null;
        },
      }),
    ];
  }

  async #ask(prompts: readonly string[], turn: number, signal: AbortSignal): Promise<string[]> {
    const answer = this.#answer;
    if (answer === undefined) throw new ToolError("no model answers the questions of this episode");
    const { maxSubCalls, promptCharacters } = this.#limits;
    if (this.#count + prompts.length > maxSubCalls) {
      throw new ToolError(
        `an episode may ask ${maxSubCalls} questions: ${this.#count} were asked, and these are ${prompts.length} more`,
      );
    }
    const long = prompts.find(({ length }) => length > promptCharacters);
    if (long !== undefined) {
      throw new ToolError(
        `a question must have at most ${promptCharacters} characters: found ${long.length}`,
      );
    }
    const first = this.#count + 1;
    this.#count += prompts.length;
    return await Promise.all(prompts.map(async (prompt, index) => {
      using _slot = await this.#slots.acquire(signal);
      return await answer({ prompt, number: first + index, turn, signal });
    }));
  }
}
