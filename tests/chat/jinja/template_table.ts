import { fileURLToPath } from "node:url";
import type { TemplateReport } from "../../../src/cli/templates/check.ts";

const PAGE = fileURLToPath(new URL("../../../docs/templates.md", import.meta.url));
const START = "<!-- table of templates: written by `task test:templates` -->\n";
const END = "<!-- end of the table -->\n";

/** Writes the table of templates into docs/templates.md. */
export async function writeTable(reports: readonly TemplateReport[]): Promise<void> {
  const page = await Deno.readTextFile(PAGE);
  const [start, end] = [page.indexOf(START), page.indexOf(END)];
  if (start === -1 || end === -1) {
    throw new Error(`Cannot write the table as '${PAGE}' must have its marks: found none`);
  }
  await Deno.writeTextFile(
    PAGE,
    `${page.slice(0, start + START.length)}\n${formatTable(reports)}\n${page.slice(end)}`,
  );
}

function formatTable(reports: readonly TemplateReport[]): string {
  const rows = reports.map(({ template, outcomes, differences, hasGeneration, modes }) => {
    const rendered = outcomes.filter((outcome) => "text" in outcome).length;
    const refused = outcomes.length - rendered;
    const [append, keep, rerender] = modes.map(({ problem }) => problem === null ? "yes" : "no");
    return [
      template,
      rendered,
      refused,
      differences?.length ?? "",
      hasGeneration ? "yes" : "no",
      append,
      keep,
      rerender,
    ];
  });
  const head = [
    "template",
    "rendered",
    "refused by both",
    "different",
    "marks replies",
    "append",
    "keep",
    "rerender",
  ];
  return align([head, ...rows].map((row) => row.map(String)));
}

/** Aligns the columns of a table as `deno fmt` does. */
function align(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |\n`;
  const rule = line(widths.map((width) => "-".repeat(width)));
  const [head = [], ...body] = rows;
  return line(head) + rule + body.map(line).join("");
}
