import { type ToolCall, UNNAMED_CALL } from "../../message.ts";
import { isToolRole, type TemplateMessage } from "../template_messages.ts";
import {
  findCallEnd,
  namesCallsInResults,
  needsCallsBeforeResults,
  type ProbedTemplate,
} from "../template_probe.ts";
import {
  type CallForm,
  type CallPosition,
  type ContentKind,
  findCallForm,
  findShownName,
  objectOf,
  type ShownName,
} from "./call_form.ts";

/** Text beside the calls of a message, and the place of the message. */
export interface CallContext {
  readonly kind: ContentKind;
  /** Text of the message. */
  readonly text: string;
  readonly position: CallPosition;
}

/**
 * Form in which a template shows native tool calls and their results. Small chats find the properties of the form, once.
 */
export class NativeCalls {
  readonly #probed: ProbedTemplate;
  readonly #forms = new Map<string, CallForm | undefined>();
  /** Token with which the template ends a message that calls tools, if there is such a token. */
  readonly end: string | undefined;
  #isNeeded: boolean | undefined;
  #isNamed: boolean | undefined;
  #shownName: ShownName | undefined;

  constructor(probed: ProbedTemplate, controlTokens: readonly string[]) {
    this.#probed = probed;
    this.end = findCallEnd(probed, controlTokens);
  }

  /** True if the template shows a tool's result only after a message with native calls. */
  get isNeededForResults(): boolean {
    return this.#isNeeded ??= needsCallsBeforeResults(this.#probed);
  }

  /** True if the template writes the id of a call in the call's result. */
  get isNamedInResults(): boolean {
    return this.#isNamed ??= namesCallsInResults(this.#probed);
  }

  /**
   * Returns the form in which the template shows calls; `undefined` if the message's text has them already, or the
   * variable `drop_tool_roles` asks to drop them.
   *
   * @throws {TypeError} if the template drops the calls or their names.
   */
  formOf(calls: readonly ToolCall[], { kind, text, position }: CallContext): CallForm | undefined {
    const isText = calls.every(({ arguments: args }) => typeof args === "string");
    const wanted = {
      content: kind,
      arguments: isText ? "text" : "object",
      calls: calls.length > 1 ? 2 : 1,
      position,
    } as const;
    const key = Object.values(wanted).join(" ");
    if (!this.#forms.has(key)) this.#forms.set(key, findCallForm(this.#probed, wanted));
    const form = this.#forms.get(key);
    const { template, variables } = this.#probed;
    if (form !== undefined) {
      this.#requireNames(calls, form);
      return form;
    }
    if (variables.drop_tool_roles || hasCalls(text, calls)) return undefined;
    throw new TypeError(
      `Cannot render message as template '${template.name}' must show ` +
        `${calls.length > 1 ? `${calls.length} native tool calls` : "a native tool call"}: ` +
        `it drops '${calls.map(({ name }) => name).join("', '")}'`,
    );
  }

  /** Checks that the names of calls are shown, by themselves or in ids. */
  #requireNames(calls: readonly ToolCall[], form: CallForm): void {
    const shown = this.#shownName ??= findShownName(this.#probed, form);
    if (shown === "name") return;
    const dropped = calls.find(({ id = "", name }) => shown === "nothing" || !id.includes(name));
    if (dropped === undefined) return;
    const { id = "", name } = dropped;
    throw new TypeError(
      `Cannot render message as template '${this.#probed.template.name}' must show the name of a native tool call: ` +
        `it drops '${name}'` +
        (shown === "nothing" ? "" : `, and shows the id '${id}', not one such as 'functions.${name}:0'`),
    );
  }

  /**
   * Checks that results follow calls, if the template drops them elsewhere.
   *
   * @throws {TypeError} if a result follows a message without calls.
   */
  requireBeforeResults(messages: readonly TemplateMessage[]): void {
    let hasCalls = false;
    for (const { role, tool_calls } of messages) {
      if (!isToolRole(role)) hasCalls = tool_calls !== undefined;
      else if (!hasCalls && this.isNeededForResults) {
        throw new TypeError(
          `Cannot render message as template '${this.#probed.template.name}' must get a tool's result after a message ` +
            "with tool calls: found a message without",
        );
      }
    }
  }
}

/**
 * True if a text has the calls in elements `<tool_call>`, so that they stay although the template drops native calls.
 * Families write the calls inside differently: the text of each call must have the call's name and the names of the
 * arguments.
 */
function hasCalls(text: string, calls: readonly ToolCall[]): boolean {
  const inner = [...text.matchAll(/<tool_call>(.*?)<\/tool_call>/gs)].map(([, inner]) => inner).join("\n");
  const count = (word: string) => inner.split(JSON.stringify(word).slice(1, -1)).length - 1;
  return calls.every((call) => {
    const name = call.name || UNNAMED_CALL;
    const wanted = calls.filter((other) => (other.name || UNNAMED_CALL) === name).length;
    return count(name) >= wanted && argumentNames(call).every((argument) => count(argument) > 0);
  });
}

/** Returns the names of a call's arguments; none if they are not JSON. */
function argumentNames({ arguments: args }: ToolCall): string[] {
  const value = typeof args === "string" ? objectOf(args) : args;
  return typeof value === "object" && value !== null ? Object.keys(value) : [];
}
