import { requireKnownOptions } from "../options.ts";
import type { Step } from "../envs/env.ts";
import { History } from "../history.ts";
import type { ContentPart, Message } from "../message.ts";
import { deriveSeed, randomSeed, seededRandom } from "../seeded_random.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** Options of {@linkcode AddThinkingPrompt}. */
export interface AddThinkingPromptOptions {
  /** Returns true if the policy is to think again after this step. */
  cond: (step: Step, context: TransformContext) => boolean | Promise<boolean>;
  /**
   * Sentence that asks the policy to think again.
   * @default "But wait, let me think about this more carefully..."
   */
  prompt?: string | undefined;
  /**
   * If true, picks one of six other sentences, based on the episode's seed.
   * @default false
   */
  randomPrompt?: boolean | undefined;
  /**
   * Role of the message with the sentence.
   * @default "assistant"
   */
  role?: string | undefined;
  /**
   * If true, replaces the last answer of the assistant with the sentence. If false, appends the sentence as
   * a message.
   * @default true
   */
  editLastTurn?: boolean | undefined;
  /**
   * If true, sets the step's reward to 0.
   * @default the value of `editLastTurn`
   */
  zeroReward?: boolean | undefined;
  /**
   * If true, continues a terminated episode. A truncated episode stays truncated.
   * @default true
   */
  undoDone?: boolean | undefined;
  /**
   * If true, uses `let me think` instead of `think`.
   * @default true if the role is `assistant`
   */
  egocentric?: boolean | undefined;
}

/** Sentences of a policy to itself, the default first. */
const EGOCENTRIC_PROMPTS = [
  "But wait, let me think about this more carefully...",
  "Hold on, I should go through that once more before I answer...",
  "Hmm, I am not sure that this holds. Let me check each step...",
  "Let me start from the question again and see whether I get the same...",
  "Something may be off here. Let me look for where I went wrong...",
  "Before I settle on this, let me try to work it out another way...",
  "I may have been too quick. Let me slow down and verify this...",
] as const;

/** Sentences of another role to the policy, the default first. */
const OTHERS_PROMPTS = [
  "But wait, think about this more carefully...",
  "Hold on, go through that once more before you answer...",
  "Are you sure that this holds? Check each step...",
  "Start from the question again and see whether you get the same...",
  "Something may be off here. Look for where it went wrong...",
  "Before you settle on this, try to work it out another way...",
  "That may have been too quick. Slow down and verify it...",
] as const;

const ANSWER_START = "<answer>";
const ANSWER_END = "</answer>";

/**
 * Makes a policy think again after a step that should not end the episode, such as a step with a wrong answer.
 *
 * Append this transform after the transforms that grade and end the episode. The transform edits the history. Sampled
 * token ids cannot be edited, so use `editLastTurn: false` with policies that use token ids.
 *
 * @example
 * ```ts
 * import { AddThinkingPrompt, ChatEnv, EndOnAnswer, GradeEpisode, gsm8k, TransformedEnv } from "@paddock/paddock";
 *
 * await using env = new TransformedEnv(new ChatEnv(), [
 *   new EndOnAnswer(),
 *   new GradeEpisode({ grader: gsm8k() }),
 *   new AddThinkingPrompt({ cond: ({ terminated, reward }) => terminated && reward !== 1 }),
 * ]);
 * ```
 */
export class AddThinkingPrompt implements Transform {
  readonly #options: AddThinkingPromptOptions;
  readonly #role: string;
  readonly #editLastTurn: boolean;

  /**
   * @throws {TypeError} when `editLastTurn` is true and the role is not `assistant`.
   */
  constructor(options: AddThinkingPromptOptions) {
    requireKnownOptions("create AddThinkingPrompt", options, {
      cond: true,
      prompt: true,
      randomPrompt: true,
      role: true,
      editLastTurn: true,
      zeroReward: true,
      undoDone: true,
      egocentric: true,
    });
    const { role = "assistant", editLastTurn = true } = options;
    if (editLastTurn && role !== "assistant") {
      throw new TypeError(`editLastTurn can only be used with role='assistant': current value is '${role}'`);
    }
    this.#options = options;
    this.#role = role;
    this.#editLastTurn = editLastTurn;
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    const { cond, zeroReward = this.#editLastTurn, undoDone = true } = this.#options;
    if (!await cond(step, context)) return step;
    const sentence = this.#sentence(context);
    const { prompt } = step.history;
    return {
      ...step,
      history: {
        prompt: this.#editLastTurn ? editLastAnswer(prompt, sentence) : this.#append(prompt, sentence),
      },
      reward: zeroReward && step.reward !== null ? 0 : step.reward,
      terminated: step.terminated && !undoDone,
    };
  }

  #append(prompt: History, content: string): History {
    return prompt.append({ role: this.#role, content });
  }

  #sentence({ seed = randomSeed(), turn }: TransformContext): string {
    const { prompt, randomPrompt = false, egocentric = this.#role === "assistant" } = this.#options;
    if (prompt !== undefined) return prompt;
    const [defaultPrompt, ...others] = egocentric ? EGOCENTRIC_PROMPTS : OTHERS_PROMPTS;
    if (!randomPrompt) return defaultPrompt;
    return others[Math.floor(seededRandom(deriveSeed(seed, turn))() * others.length)] ?? defaultPrompt;
  }
}

/**
 * Returns the conversation with the sentence in place of the assistant's last answer, or after the last
 * message.
 */
function editLastAnswer(prompt: History, sentence: string): History {
  const messages = [...prompt];
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  return History.fromChats(
    messages.map((message, index) => index === last ? editMessage(message, sentence) : message),
  );
}

function editMessage(message: Message, sentence: string): Message {
  const { content } = message;
  if (typeof content === "string") return { ...message, content: replaceAnswer(content, sentence) };
  const last = content.findLastIndex(({ type }) => type === "text");
  const parts = content.map((part, index): ContentPart =>
    index === last ? { ...part, text: replaceAnswer(part.text ?? "", sentence) } : part
  );
  return { ...message, content: last === -1 ? [...content, { type: "text", text: sentence }] : parts };
}

function replaceAnswer(text: string, sentence: string): string {
  const prefix = removeTurnEnd(removeAnswer(text));
  return /(?:^|\s)$/.test(prefix) ? prefix + sentence : `${prefix}\n\n${sentence}`;
}

function removeAnswer(text: string): string {
  const end = text.lastIndexOf(ANSWER_END);
  const start = end === -1 ? -1 : text.lastIndexOf(ANSWER_START, end);
  if (start === -1) return text;
  return text.slice(0, start) + text.slice(end + ANSWER_END.length).replace(/^\s*<\|im_end\|>/, "");
}

function removeTurnEnd(text: string): string {
  return text.replace(/<\|im_end\|>\s*$/, "");
}
