import { requireKnownOptions } from "../../options.ts";
import { ChatFormat } from "../../chat/chat_format.ts";
import { parseRenderedChat } from "../../chat/conversions.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import type { Action } from "../../envs/action.ts";
import type { Observation } from "../../envs/env.ts";
import { History } from "../../history.ts";
import { messageText } from "../../message.ts";
import type { Transform, TransformContext } from "../transform.ts";
import { addToMLGymAction } from "./mlgym_record.ts";

/** Options of {@linkcode TemplateTransform}. */
export interface TemplateTransformOptions {
  /** Tokenizer of the model. The tokenizer's template is used unless `chatTemplateName` is set. */
  tokenizer?: Tokenizer | undefined;
  /** Name of a family of templates, such as `chatml_format`. */
  chatTemplateName?: string | undefined;
  /**
   * If true, adds each prompt as text.
   * @default true
   */
  rendersText?: boolean | undefined;
}

/**
 * Adds each prompt as the text that a model continues, and converts the policy's message, text or tokens to
 * an assistant message: `localHistory`. A reply that is not an assistant message becomes an empty message.
 */
export class TemplateTransform implements Transform {
  readonly #format: ChatFormat | undefined;

  /**
   * @throws {TypeError} when prompts are to be rendered and there is no tokenizer, or no template.
   * @throws {RangeError} when there is no template with the name.
   */
  constructor(options: TemplateTransformOptions) {
    requireKnownOptions("create TemplateTransform", options, {
      tokenizer: true,
      chatTemplateName: true,
      rendersText: true,
    });
    const { tokenizer, chatTemplateName: family, rendersText = true } = options;
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
    const localHistory = this.#replyHistory(action, observation);
    const last = localHistory.last;
    const isAssistant = last?.role === "assistant";
    const textResponse = isAssistant ? messageText(last) : "";
    const response = isAssistant ? localHistory : History.fromChats([{ role: "assistant", content: "" }]);
    return addToMLGymAction({ ...action, history: { response } }, { localHistory: response, textResponse });
  }

  step<T extends Observation>(step: T): T {
    return this.#withText(step);
  }

  #withText<T extends Observation>(observation: T): T {
    if (this.#format === undefined) return observation;
    const prompt = this.#format.render(observation.history.prompt, { addGenerationPrompt: true });
    return { ...observation, text: { prompt } };
  }

  #replyHistory(action: Action, before: Observation | undefined): History {
    const prompt = before?.history.prompt ?? History.fromChats([]);
    const { response, full } = action.history ?? {};
    if (full !== undefined) return full.slice(prompt.length);
    if (response !== undefined) return response;
    const shown = before?.text?.prompt ?? "";
    return this.#read(shown, this.#text(action, shown));
  }

  /**
   * Parses the policy's text after the prompt. The policy may have closed the turn and opened another turn.
   */
  #read(prompt: string, output: string): History {
    const format = this.#format;
    if (format?.template.inverseParser === undefined) {
      return History.fromChats([{ role: "assistant", content: format?.cutEnd(output) ?? output }]);
    }
    try {
      return parseRenderedChat(prompt + output, format.template, format.tokenizer ?? {}).slice(-1);
    } catch {
      return History.fromChats([]); // a text that cannot be parsed counts as an empty reply
    }
  }

  #text({ text, tokens }: Action, prompt: string): string {
    if (text?.response !== undefined) return text.response;
    if (text?.full?.startsWith(prompt)) return text.full.slice(prompt.length);
    return tokens?.response === undefined ? "" : this.#format?.tokenizer?.decode(tokens.response) ?? "";
  }
}
