import { parse, Template, tokenize } from "@huggingface/jinja";
import { errorMessage } from "../errors.ts";
import type { ChatTemplate } from "./chat_template.ts";

/** What marks the assistant's part of a rendered text. */
export interface GenerationMarks {
  readonly start: string;
  readonly end: string;
}

const NO_MARKS: GenerationMarks = { start: "", end: "" };
const TAG = /(\s*)\{%(-?)\s*(end)?generation\s*(-?)%\}(\s*)/g;

/** A chat template made ready: read once, rendered often. */
export class JinjaTemplate {
  readonly name: string;
  /** True when the template says which part is the assistant's own. */
  readonly marksGeneration: boolean;
  readonly #template = new Template("");

  /** @throws {SyntaxError} when it is no Jinja. */
  constructor({ name, source }: Pick<ChatTemplate, "name" | "source">) {
    this.name = name;
    this.marksGeneration = source.search(TAG) !== -1;
    try {
      this.#template.parsed = parse(tokenize(markedSource(source)));
    } catch (cause) {
      const reason = errorMessage(cause);
      throw new SyntaxError(`Cannot use chat template '${name}' as it must be Jinja: ${reason}`, { cause });
    }
  }

  /** @throws {Error} when the template refuses what it is given. */
  render(variables: Readonly<Record<string, unknown>>, marks: GenerationMarks = NO_MARKS): string {
    try {
      const { start, end } = marks;
      return this.#template.render({ ...variables, _generation_start: start, _generation_end: end });
    } catch (cause) {
      const reason = errorMessage(cause);
      throw new Error(`Cannot render chat as template '${this.name}' fails: ${reason}`, { cause });
    }
  }
}

/**
 * The source with variables where its generation tags are. The library drops these tags; what it does to blocks
 * at the ends of lines before is done here, in its order.
 */
function markedSource(source: string): string {
  return source
    .replace(/^[ \t]*(\{[#%-])/gm, "$1")
    .replace(/([#%-]\})\n/g, "$1")
    .replace(TAG, (_tag, before, left, end, right, after) => {
      const mark = `{{ _generation_${end ? "end" : "start"} }}`;
      return (left ? "" : before) + mark + (right ? "" : after);
    });
}
