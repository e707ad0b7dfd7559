import { type CallForm, type ContentKind, findCallForm } from "../../chat/calls/call_form.ts";
import { JinjaTemplate } from "../../chat/chat_template.ts";
import { Template } from "../../chat/jinja/template.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import { errorMessage } from "../../errors.ts";
import { parseExact } from "../../numbers/exact_numbers.ts";
import { TokenFormat } from "../../rollout/tokens/token_format.ts";
import type { WritingMode } from "../../rollout/tokens/turn_writers.ts";
import chatsJson from "./chats.json" with { type: "text" };
import type { OracleResult } from "./transformers_oracle.ts";

/** A chat with which a template is tried: the variables that transformers gives to templates. */
export interface TriedChat {
  readonly name: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The time that a template's clock shows: the fields of a date in the local time zone. */
const CLOCK = [2026, 3, 5, 16, 7, 9] as const;

function clock(): Date {
  const [year, month, ...rest] = CLOCK;
  return new Date(year, month - 1, ...rest);
}

/** Returns the chats with which templates are tried. */
export function triedChats(): readonly TriedChat[] {
  return parseExact(chatsJson) as TriedChat[];
}

/** A template to check. */
export interface CheckedTemplate {
  readonly name: string;
  readonly source: string;
  readonly tokenizer: Tokenizer;
}

/** Outcome of a chat in a template. */
export type ChatOutcome =
  & { readonly chat: string }
  & ({ readonly text: string } | { readonly error: string });

/** Whether a template can be used in a way of writing tokens, and the reason if not. */
export interface ModeReport {
  readonly mode: string;
  readonly problem: string | null;
}

/** Form in which a template takes native calls that are followed by results. */
export interface CallReport {
  /** Type of `arguments`: an object, or JSON text where the template raises an error for an object or drops the call. */
  readonly arguments: CallForm["arguments"];
  /** Content beside a call, by what the message has: the empty text, or null. */
  readonly content: Readonly<Record<"empty" | "null", CallForm["content"]>>;
  /** True if the template shows all of several calls of a message. */
  readonly several: boolean;
}

/** A difference from transformers. */
export interface Difference {
  readonly chat: string;
  /** Text near the first difference, or the error. */
  readonly paddock: string;
  readonly transformers: string;
}

/** The report on a template. */
export interface TemplateReport {
  readonly template: string;
  /** Reason why the template cannot be used at all. */
  readonly failure: string | null;
  readonly outcomes: readonly ChatOutcome[];
  /** Differences from transformers; null if there was no comparison. */
  readonly differences: readonly Difference[] | null;
  /** True if the template marks the assistant's part itself. */
  readonly hasGeneration: boolean;
  /** Form in which the template takes native calls; null if the template drops calls. */
  readonly calls: CallReport | null;
  /** Roles whose contents the template takes as lists of parts only. */
  readonly rolesWithParts: readonly string[];
  readonly modes: readonly ModeReport[];
}

const MODES: readonly (WritingMode & { readonly name: string })[] = [
  { name: "append", mode: "append", onRewrite: "error" },
  { name: "append, on-rewrite keep", mode: "append", onRewrite: "keep" },
  { name: "rerender", mode: "rerender", onRewrite: "error" },
];

/** Loads a template, renders all chats, and tries the ways of writing tokens. */
export function checkTemplate(checked: CheckedTemplate): TemplateReport {
  const { name, source } = checked;
  const report = {
    template: name,
    outcomes: [],
    differences: null,
    hasGeneration: false,
    calls: null,
    rolesWithParts: [],
    modes: [],
  };
  try {
    const template = new Template(source);
    const jinja = new JinjaTemplate(checked);
    const variables = {
      bos_token: checked.tokenizer.bosToken ?? "",
      eos_token: checked.tokenizer.eosToken ?? "",
    };
    return {
      ...report,
      failure: null,
      hasGeneration: template.hasGeneration,
      outcomes: triedChats().map((chat) => ({ chat: chat.name, ...outcomeOf(template, chat) })),
      calls: callReport(jinja, variables),
      rolesWithParts: ROLES.filter((role) => jinja.contentForm(role, variables) === "parts"),
      modes: MODES.map(({ name, ...mode }) => ({ mode: name, problem: problemOf(checked, mode) })),
    };
  } catch (error) {
    return { ...report, failure: errorMessage(error) };
  }
}

const ROLES = ["system", "user", "assistant", "tool"];

function callReport(
  template: JinjaTemplate,
  variables: Readonly<Record<string, unknown>>,
): CallReport | null {
  const find = (content: ContentKind, calls: number) =>
    findCallForm({ template, variables }, { content, calls, arguments: "object", position: "middle" });
  const [empty, none, several] = [find("empty", 1), find("null", 1), find("empty", 2)];
  if (empty === undefined || none === undefined) return null;
  return {
    arguments: empty.arguments,
    content: { empty: empty.content, null: none.content },
    several: several !== undefined,
  };
}

function outcomeOf(template: Template, { variables }: TriedChat): { text: string } | { error: string } {
  try {
    return { text: template.render(variables, { now: clock }) };
  } catch (error) {
    return { error: errorMessage(error) };
  }
}

function problemOf({ name, tokenizer, source }: CheckedTemplate, mode: WritingMode): string | null {
  try {
    const named = { ...tokenizer, chatTemplate: source, name };
    new TokenFormat({ tokenizer: named, family: "tokenizer" }).requireWritable(mode);
    return null;
  } catch (error) {
    // the cause states the template's behaviour, and the error the required behaviour
    return errorMessage(error instanceof Error ? error.cause ?? error : error);
  }
}

/** Returns the cases of a template for transformers, as JSON texts. Both clocks show the same second. */
export function oracleCases({ source }: CheckedTemplate): string[] {
  return triedChats().map(({ variables }) => JSON.stringify({ template: source, variables, now: CLOCK }));
}

/** Adds the differences from the results of transformers. */
export function compareReport(report: TemplateReport, results: readonly OracleResult[]): TemplateReport {
  if (report.failure !== null) {
    const rendered = results.filter((result) => "text" in result).length;
    const transformers = `renders ${rendered} of ${results.length} chats`;
    const difference = { chat: "all", paddock: report.failure, transformers };
    return { ...report, differences: rendered === 0 ? [] : [difference] };
  }
  const differences = report.outcomes.flatMap((outcome, at): Difference[] => {
    const result = results[at];
    if (result === undefined || isSame(outcome, result)) return [];
    const from = firstDifference(textOf(outcome), textOf(result));
    return [{ chat: outcome.chat, paddock: excerpt(outcome, from), transformers: excerpt(result, from) }];
  });
  return { ...report, differences };
}

function isSame(own: ChatOutcome, other: OracleResult): boolean {
  if ("error" in own || "error" in other) return "error" in own && "error" in other;
  return own.text === other.text;
}

function textOf(outcome: ChatOutcome | OracleResult): string {
  return "text" in outcome ? outcome.text : "";
}

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}

const BEFORE = 30;
const AFTER = 50;

function excerpt(outcome: ChatOutcome | OracleResult, at: number): string {
  if ("error" in outcome) return `error: ${outcome.error}`;
  return JSON.stringify(outcome.text.slice(Math.max(0, at - BEFORE), at + AFTER));
}
