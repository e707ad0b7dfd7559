import { fileURLToPath } from "node:url";
import type { TemplateReport } from "../../../src/cli/templates/check.ts";
import { familyRows, type Rows, type TriedTemplate } from "./family_table.ts";

const PAGE = fileURLToPath(new URL("../../../docs/templates.md", import.meta.url));

/** Writes the tables of families and of templates into docs/templates.md. */
export async function writeTables(templates: readonly TriedTemplate[]): Promise<void> {
  const page = await Deno.readTextFile(PAGE);
  const withFamilies = replaceTable(page, "families", familyRows(templates));
  const reports = templates.map(({ report }) => report);
  await Deno.writeTextFile(PAGE, replaceTable(withFamilies, "templates", templateRows(reports)));
}

function replaceTable(page: string, name: string, rows: Rows): string {
  const mark = `<!-- table of ${name}: written by \`task test:templates\` -->\n`;
  const start = page.indexOf(mark) + mark.length;
  const end = page.indexOf(`<!-- end of the table of ${name} -->`);
  if (start < mark.length || end === -1) {
    throw new Error(`Cannot write the table of ${name} as '${PAGE}' must have its marks: found none`);
  }
  return `${page.slice(0, start)}\n${align(rows)}\n${page.slice(end)}`;
}

function templateRows(reports: readonly TemplateReport[]): Rows {
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
  return [head, ...rows].map((row) => row.map(String));
}

/** Aligns the columns of a table as `deno fmt` does. */
function align(rows: Rows): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |\n`;
  const rule = line(widths.map((width) => "-".repeat(width)));
  const [head = [], ...body] = rows;
  return line(head) + rule + body.map(line).join("");
}
