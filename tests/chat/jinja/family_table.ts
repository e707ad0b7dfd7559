import type { TemplateReport } from "../../../src/cli/templates/check.ts";
import type { CallRoundTrip } from "./call_round_trip.ts";
import { MODEL_FAMILIES } from "./model_families.ts";

/** A template with its report, and what it makes of native calls. */
export interface TriedTemplate {
  readonly report: TemplateReport;
  readonly calls: CallRoundTrip;
}

/** Cells of a table, of which the first row is its head. */
export type Rows = readonly (readonly string[])[];

/** Returns the table of families: what was rendered, read back and trained, and the reasons where not all was. */
export function familyRows(templates: readonly TriedTemplate[]): Rows {
  const families = Map.groupBy(templates, ({ report }) => familyOf(report.template));
  const known = MODEL_FAMILIES.filter(([name]) => families.has(name));
  return [HEAD, ...known.map(([name]) => familyRow(name, families.get(name) ?? []))];
}

const HEAD = [
  "family",
  "templates",
  "rendered",
  "calls shown",
  "calls read back",
  "`append`",
  "`keep`",
  "`rerender`",
  "why not",
];

function familyOf(template: string): string {
  const found = MODEL_FAMILIES.find(([, pattern]) => pattern.test(template));
  if (found === undefined) {
    throw new Error(`Cannot write row as '${template}' must have a family: it has none`);
  }
  return found[0];
}

function familyRow(name: string, templates: readonly TriedTemplate[]): string[] {
  const sum = (count: (template: TriedTemplate) => number) =>
    templates.reduce((total, template) => total + count(template), 0);
  const rendered = sum(({ report }) => report.outcomes.filter((outcome) => "text" in outcome).length);
  const works = (mode: number) =>
    share(sum(({ report }) => report.modes[mode]?.problem === null ? 1 : 0), templates.length);
  const shown = sum(({ calls }) => calls.shown);
  const styles = new Set(templates.flatMap(({ calls }) => calls.style ?? []));
  const read = shown === 0 ? "" : share(sum(({ calls }) => calls.read), shown);
  return [
    name,
    String(templates.length),
    share(rendered, sum(({ report }) => report.outcomes.length)),
    share(shown, sum(({ calls }) => calls.tried)),
    styles.size === 0 ? read : `${read} by ${[...styles].join(", ")}`,
    works(0),
    works(1),
    works(2),
    reasonsOf(templates).join("; "),
  ];
}

function share(part: number, whole: number): string {
  return part === whole ? String(whole) : `${part} of ${whole}`;
}

/** Returns each reason once, with the number of templates that it holds for. */
function reasonsOf(templates: readonly TriedTemplate[]): string[] {
  const reasons = templates.flatMap(({ report, calls }) => [...modeReasons(report), ...callReasons(calls)]);
  const counts = Map.groupBy(reasons, (reason) => reason);
  return [...counts].map(([reason, { length }]) =>
    length === templates.length ? reason : `${reason} (${length})`
  );
}

function modeReasons({ modes: [append, keep, rerender] }: TemplateReport): string[] {
  if (keep?.problem !== null) return ["no mode: replies follow no prompt"];
  return [
    ...append?.problem === null ? [] : ["`append`: rewrites turns"],
    ...rerender?.problem === null ? [] : ["`rerender`: replies follow no prompt"],
  ];
}

function callReasons({ tried, shown, read, style }: CallRoundTrip): string[] {
  if (shown === 0) return ["calls dropped"];
  return [
    ...shown < tried ? ["some calls dropped"] : [],
    ...style === undefined ? ["no parser"] : [],
    ...style !== undefined && read < shown ? ["values lost"] : [],
  ];
}
