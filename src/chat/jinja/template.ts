import { compileBody } from "./compile/statement.ts";
import type { Execute } from "./compile/signal.ts";
import { toValue } from "./values/convert.ts";
import { TemplateLimitError, TemplateSyntaxError } from "./jinja_errors.ts";
import type { Body } from "./syntax/nodes.ts";
import { parseTemplate } from "./syntax/parser.ts";
import { type GenerationMarks, Run } from "./run.ts";
import { Frame, Scope } from "./compile/scope.ts";

export type { GenerationMarks };

/** Options of {@linkcode Template.render}. */
export interface RenderTemplateOptions {
  /**
   * Texts around the parts that the template marks with `{% generation %}`.
   *
   * @default { start: "", end: "" }
   */
  readonly marks?: GenerationMarks | undefined;
  /**
   * Returns the time that `strftime_now` shows, in the local time zone.
   *
   * @default () => new Date()
   */
  readonly now?: (() => Date) | undefined;
}

/**
 * A chat template in Jinja, with the results of Jinja2 in the set-up of transformers' `render_jinja_template`:
 * a sandbox with `trim_blocks` and `lstrip_blocks`, loop controls, `{% generation %}`, and values of Python.
 *
 * The template may come from a stranger. A template reaches no object of JavaScript, and steps, text and depth are
 * bounded.
 */
export class Template {
  /** True if the template marks parts with `{% generation %}`. */
  readonly hasGeneration: boolean;
  readonly #enter: (frame: Frame) => void;
  readonly #body: Execute;

  /** @throws {TemplateSyntaxError} if the source is not a template, or uses what is not known. */
  constructor(source: string) {
    try {
      const parsed = parseTemplate(source);
      const scope = Scope.root(parsed.source);
      scope.symbols.readBody(parsed.body);
      this.#enter = scope.enter();
      this.#body = compileBody(parsed.body, scope);
      this.hasGeneration = hasGeneration(parsed.body);
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
      throw new TemplateSyntaxError("expressions and tags are nested too deep", { line: 1, column: 1 });
    }
  }

  /**
   * Renders the template with variables, which are data of JSON.
   *
   * @throws {TemplateError} if the template raises an error, or exceeds a bound.
   */
  render(variables: Readonly<Record<string, unknown>>, options: RenderTemplateOptions = {}): string {
    const { marks = { start: "", end: "" }, now = () => new Date() } = options;
    const values = new Map(
      Object.entries(variables).filter(([, value]) => value !== undefined).map((
        [name, value],
      ) => [name, toValue(value)]),
    );
    const run = new Run({ marks, now });
    const frame = new Frame(run, values);
    try {
      this.#enter(frame);
      this.#body(frame);
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
      throw new TemplateLimitError("calls or values are nested too deep", { cause });
    }
    return run.out;
  }
}

function hasGeneration(body: Body): boolean {
  return body.some((node) => {
    if (node.kind === "call_block" && node.call === undefined) return true;
    if (node.kind === "if") {
      return node.branches.some(({ body }) => hasGeneration(body)) || hasGeneration(node.otherwise);
    }
    if (node.kind === "for") return hasGeneration(node.body) || hasGeneration(node.otherwise);
    return "body" in node && hasGeneration(node.body);
  });
}
