import type { Step } from "../envs/env.ts";
import { History } from "../history.ts";
import type { ContentPart, Message } from "../message.ts";
import { derivedSeed, freshSeed, seededRandom } from "../seeded_random.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** When an {@linkcode AddThinkingPrompt} asks to think again, and how. */
export interface AddThinkingPromptOptions {
  /** Whether this step is one to think again after. */
  cond: (step: Step, context: TransformContext) => boolean | Promise<boolean>;
  /** The sentence that asks; a usual one unless given. */
  prompt?: string | undefined;
  /** Picks one of six other sentences instead of the usual one, as the episode's seed has it. */
  randomPrompt?: boolean | undefined;
  /** Who says it. */
  role?: string | undefined;
  /** Puts the sentence where the last answer of the assistant stood, instead of behind it as a message. */
  editLastTurn?: boolean | undefined;
  /** Takes the step's reward away; as `editLastTurn` unless given. */
  zeroReward?: boolean | undefined;
  /** Has an episode go on that had come to its end; one that a limit cut off stays so. */
  undoDone?: boolean | undefined;
  /** Says `let me think` instead of `think`; so when the assistant says it, unless given. */
  egocentric?: boolean | undefined;
}

/** What a policy says to itself, the usual sentence first. */
const EGOCENTRIC_PROMPTS = [
  "But wait, let me think about this more carefully...",
  "Hold on, I should go through that once more before I answer...",
  "Hmm, I am not sure that this holds. Let me check each step...",
  "Let me start from the question again and see whether I get the same...",
  "Something may be off here. Let me look for where I went wrong...",
  "Before I settle on this, let me try to work it out another way...",
  "I may have been too quick. Let me slow down and verify this...",
] as const;

/** What somebody else says to a policy, the usual sentence first. */
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
 * Has a policy think again after a step that it should not end with, such as one with a wrong answer.
 *
 * Append it behind what grades the episode and ends it. It edits the history: where a policy deals in token ids,
 * which nobody can edit once they are sampled, have the sentence appended (`editLastTurn: false`).
 */
export class AddThinkingPrompt implements Transform {
  readonly #options: AddThinkingPromptOptions;
  readonly #role: string;
  readonly #editLastTurn: boolean;

  /** @throws {TypeError} when the last turn is to be edited in the name of another than the assistant. */
  constructor(options: AddThinkingPromptOptions) {
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
      history: { prompt: this.#editLastTurn ? edited(prompt, sentence) : this.#appended(prompt, sentence) },
      reward: zeroReward && step.reward !== null ? 0 : step.reward,
      terminated: step.terminated && !undoDone,
    };
  }

  #appended(prompt: History, content: string): History {
    return prompt.append({ role: this.#role, content });
  }

  #sentence({ seed = freshSeed(), turn }: TransformContext): string {
    const { prompt, randomPrompt = false, egocentric = this.#role === "assistant" } = this.#options;
    if (prompt !== undefined) return prompt;
    const [usual, ...others] = egocentric ? EGOCENTRIC_PROMPTS : OTHERS_PROMPTS;
    if (!randomPrompt) return usual;
    return others[Math.floor(seededRandom(derivedSeed(seed, turn))() * others.length)] ?? usual;
  }
}

/** The conversation with the sentence where the assistant's last answer stood, or behind its last words. */
function edited(prompt: History, sentence: string): History {
  const messages = [...prompt];
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  return History.fromChats(
    messages.map((message, index) => index === last ? editedMessage(message, sentence) : message),
  );
}

function editedMessage(message: Message, sentence: string): Message {
  const { content } = message;
  if (typeof content === "string") return { ...message, content: thinkingAgain(content, sentence) };
  const last = content.findLastIndex(({ type }) => type === "text");
  const parts = content.map((part, index): ContentPart =>
    index === last ? { ...part, text: thinkingAgain(part.text ?? "", sentence) } : part
  );
  return { ...message, content: last === -1 ? [...content, { type: "text", text: sentence }] : parts };
}

function thinkingAgain(text: string, sentence: string): string {
  const kept = withoutTurnEnd(withoutAnswer(text));
  return /(?:^|\s)$/.test(kept) ? kept + sentence : `${kept}\n\n${sentence}`;
}

function withoutAnswer(text: string): string {
  const end = text.lastIndexOf(ANSWER_END);
  const start = end === -1 ? -1 : text.lastIndexOf(ANSWER_START, end);
  if (start === -1) return text;
  return text.slice(0, start) + text.slice(end + ANSWER_END.length).replace(/^\s*<\|im_end\|>/, "");
}

function withoutTurnEnd(text: string): string {
  return text.replace(/<\|im_end\|>\s*$/, "");
}
