import { ChatFormat } from "../../chat/chat_format.ts";
import { readChat } from "../../chat/read_chat.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import type { Action, Observation } from "../../envs/env.ts";
import { History } from "../../history.ts";
import { messageText } from "../../message.ts";
import type { Transform, TransformContext } from "../transform.ts";
import { addToMLGymRecord } from "./mlgym_record.ts";

/** How a {@linkcode TemplateTransform} writes prompts and reads replies. */
export interface TemplateTransformOptions {
  /** The model's, whose template it is unless one is named. */
  tokenizer?: Tokenizer | undefined;
  /** A family of templates, such as `chatml_format`. */
  chatTemplateName?: string | undefined;
  /** Whether each prompt is given as text too; so unless told otherwise. */
  rendersText?: boolean | undefined;
}

/**
 * Gives each prompt as the text that a model continues, and takes what the policy said, as a message, as text or as
 * tokens, to the message of the assistant: `localHistory`. A reply that is no message of the assistant is empty.
 */
export class TemplateTransform implements Transform {
  readonly #format: ChatFormat | undefined;

  /**
   * @throws {TypeError} when prompts are to be text and there is no tokenizer, or it has no template and none is named.
   * @throws {RangeError} when no template has the name.
   */
  constructor({ tokenizer, chatTemplateName: family, rendersText = true }: TemplateTransformOptions) {
    if (!rendersText) return;
    if (tokenizer === undefined) throw new TypeError("Cannot apply chat template without a tokenizer.");
    if (family === undefined && tokenizer.chatTemplate === undefined) {
      throw new TypeError("Failed to determine chat template.");
    }
    this.#format = new ChatFormat({ tokenizer, family });
  }

  reset(observation: Observation): Observation {
    return this.#withText(observation);
  }

  action(action: Action, { observation }: TransformContext): Action {
    const localHistory = this.#said(action, observation);
    const last = localHistory.last;
    const isAssistant = last?.role === "assistant";
    const textResponse = isAssistant ? messageText(last) : "";
    const kept = isAssistant ? localHistory : History.fromChats([{ role: "assistant", content: "" }]);
    return addToMLGymRecord({ ...action, history: { response: kept } }, { localHistory: kept, textResponse });
  }

  step<T extends Observation>(step: T): T {
    return this.#withText(step);
  }

  #withText<T extends Observation>(observation: T): T {
    if (this.#format === undefined) return observation;
    const prompt = this.#format.render(observation.history.prompt, { addGenerationPrompt: true });
    return { ...observation, text: { prompt } };
  }

  #said(action: Action, before: Observation | undefined): History {
    const prompt = before?.history.prompt ?? History.fromChats([]);
    const { response, full } = action.history ?? {};
    if (full !== undefined) return full.slice(prompt.length);
    if (response !== undefined) return response;
    const shown = before?.text?.prompt ?? "";
    return this.#read(shown, this.#text(action, shown));
  }

  /** What the policy wrote, read behind its prompt: it may have closed its turn and opened another's. */
  #read(prompt: string, written: string): History {
    const format = this.#format;
    if (format?.template.inverseParser === undefined) {
      return History.fromChats([{ role: "assistant", content: format?.cutEnd(written) ?? written }]);
    }
    try {
      return readChat(prompt + written, format.template, format.tokenizer ?? {}).slice(-1);
    } catch {
      return History.fromChats([]); // a model may write anything: it is then taken for an empty reply
    }
  }

  #text({ text, tokens }: Action, prompt: string): string {
    if (text?.response !== undefined) return text.response;
    if (text?.full?.startsWith(prompt)) return text.full.slice(prompt.length);
    return tokens?.response === undefined ? "" : this.#format?.tokenizer?.decode(tokens.response) ?? "";
  }
}
