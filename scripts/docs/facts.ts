import { fileURLToPath } from "node:url";
import ts from "typescript";
import * as serverLimits from "../../src/server/limits.ts";
import { HTTP_STATUS } from "../../src/wire/error_codes.ts";
import * as requestLimits from "../../src/wire/limits.ts";
import { served } from "../../tests/server/served.ts";

const SOURCES = new URL("../../src/", import.meta.url);

/** Returns the page of statuses, error codes, limits and metrics, read from the sources and from a running server. */
export async function factsPage(): Promise<string> {
  await using server = served();
  const { body: document } = await server.send("GET", "/openapi.json");
  const { body: metrics } = await server.send("GET", "/metrics");
  return [
    "# Statuses, errors, limits and metrics",
    "Here you look up what a result, an error or a metric means, and how much of something is allowed. " +
    "[Server](server.html) and [Profiles](profiles.html) are the guides. The limits of a program are keys of " +
    "[a profile](reference/profile.html).",
    "## Statuses",
    "The `status` of a program's result:",
    table("status, fields, meaning", statusRows("sandbox/contract/exec.ts", "ExecResult")),
    "The `status` of a command line's result:",
    table("status, fields, meaning", statusRows("sandbox/contract/shell.ts", "ShellResult")),
    "## Errors of the server",
    "The `type` of an error of `/v1`, with an example of its `message`:",
    table("type, HTTP status, example", serverErrorRows(document)),
    "## Errors of the library",
    "Catch an error by class or by `code`. The message may change with any version.",
    table("class or code, meaning", errorRows("errors.ts")),
    "## Limits of a request",
    table("limit, value, of what", constantRows("wire/limits.ts", requestLimits)),
    "## Limits of the server",
    "Options of `serve` change some of these: see [the command](reference/commands.html#paddock-serve).",
    table("limit, value, of what", [
      ...memberRows("server/limits.ts", "RequestLimits"),
      ...constantRows("server/limits.ts", serverLimits),
    ]),
    "## Metrics",
    "`GET /metrics`, in the text format of Prometheus. A server with several tokens, a gateway and a cluster " +
    "have further figures.",
    table("metric, type, meaning", metricRows(metrics)),
  ].join("\n\n");
}

function table(columns: string, rows: readonly (readonly string[])[]): string {
  const heads = columns.split(", ");
  const lines = [heads, heads.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return lines.join("\n");
}

/** Returns text for a cell of a table. Names in links of doc comments become code. */
function cell(text: string): string {
  return text.replaceAll(/\{@\w+ ([^}|]+?)\}/g, "`$1`").replaceAll(/\s*\n\s*/g, " ").replaceAll("|", "\\|")
    .replaceAll("<", "\\<");
}

function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}

/** Statements of a source file that are exported. */
function exportsOf(path: string): readonly ts.Statement[] {
  const file = fileURLToPath(new URL(path, SOURCES));
  const source = ts.createSourceFile(file, Deno.readTextFileSync(file), ts.ScriptTarget.ESNext, true);
  return source.statements.filter((statement) =>
    ts.canHaveModifiers(statement) &&
    ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  );
}

/** Returns the doc comment before a node; the empty string without a comment. */
function docOf(node: ts.Node): string {
  const text = node.getSourceFile().text;
  const range = ts.getLeadingCommentRanges(text, node.getFullStart())?.at(-1);
  if (range === undefined || text.slice(range.pos, range.pos + 3) !== "/**") return "";
  return text.slice(range.pos + 3, range.end - 2).replaceAll(/^ *\* ?/gm, "").trim();
}

/** Returns a row for each member of the union of an exported type that has a `status`. */
function statusRows(path: string, type: string): string[][] {
  const rows: string[][] = [];
  const visit = (node: ts.Node, comment: string) => {
    if (ts.isTypeLiteralNode(node)) {
      const members = node.members.filter(ts.isPropertySignature);
      const status = members.find(({ name }) => name.getText() === "status")?.type?.getText();
      const fields = members.map(({ name }) => name.getText()).filter((name) => name !== "status");
      if (status !== undefined) {
        rows.push([code(JSON.parse(status)), fields.map(code).join(", "), cell(comment)]);
      }
      return;
    }
    if (ts.isUnionTypeNode(node)) {
      let before = node.getFullStart();
      for (const member of node.types) {
        visit(member, commentBetween(member, before));
        before = member.end;
      }
      return;
    }
    ts.forEachChild(node, (child) => visit(child, comment));
  };
  for (const statement of exportsOf(path)) {
    if (ts.isTypeAliasDeclaration(statement) && statement.name.text === type) visit(statement.type, "");
  }
  return rows;
}

/** Returns the doc comment of a member of a union, which stands before the member's `|`. */
function commentBetween(member: ts.Node, from: number): string {
  const text = member.getSourceFile().text.slice(from, member.getStart());
  return /\/\*\*([^]*?)\*\//.exec(text)?.[1]?.replaceAll(/^ *\* ?/gm, "").trim() ?? "";
}

/** Returns a row for each exported number of a module. */
function constantRows(path: string, values: Readonly<Record<string, unknown>>): string[][] {
  return exportsOf(path).filter(ts.isVariableStatement).flatMap((statement) => {
    const name = statement.declarationList.declarations[0]?.name.getText() ?? "";
    const value = values[name];
    return typeof value === "number"
      ? [[code(name), value.toLocaleString("en"), cell(docOf(statement))]]
      : [];
  });
}

/** Returns a row for each property of an exported interface, with the default of the property. */
function memberRows(path: string, type: string): string[][] {
  return exportsOf(path).filter(ts.isInterfaceDeclaration).filter(({ name }) => name.text === type)
    .flatMap(({ members }) => [...members]).map((member) => {
      const [text = "", value = ""] = docOf(member).split(/\s*@default\s+/);
      return [code(member.name?.getText() ?? ""), cell(value), cell(text)];
    });
}

function serverErrorRows(
  document: {
    components: { responses: Record<string, { content?: Record<string, { example?: Failure }> }> };
  },
): string[][] {
  const failures = Object.values(document.components.responses)
    .flatMap(({ content }) => content?.["application/json"]?.example?.error ?? []);
  return Object.entries(HTTP_STATUS).map(([type, status]) => [
    code(type),
    String(status),
    cell(failures.find((failure) => failure.type === type)?.message ?? ""),
  ]);
}

interface Failure {
  readonly error?: { readonly type: string; readonly message: string };
}

/** Returns a row for each exported class of errors, and for each type of their codes. */
function errorRows(path: string): string[][] {
  return exportsOf(path).flatMap((statement) => {
    const isCodes = ts.isTypeAliasDeclaration(statement) && statement.name.text.endsWith("ErrorCode");
    if (!isCodes && !ts.isClassDeclaration(statement)) return [];
    return [[code(statement.name?.text ?? ""), cell(docOf(statement))]];
  });
}

function metricRows(text: string): string[][] {
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]),
  );
  return [...text.matchAll(/^# HELP (\S+) (.+)$/gm)].map(([, name = "", help = ""]) => [
    code(name),
    types.get(name) ?? "",
    cell(help),
  ]);
}
