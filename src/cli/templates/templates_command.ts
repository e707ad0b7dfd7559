import { basename, dirname, join } from "node:path";
import { Command } from "commander";
import { loadTokenizer } from "../../chat/load_tokenizer.ts";
import { escapeControls, escapeJsonControls } from "../../terminal_text.ts";
import { EXIT, runCommand } from "../run_command.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";
import { writeText } from "../output.ts";
import {
  type CheckedTemplate,
  checkTemplate,
  compareReport,
  oracleCases,
  type TemplateReport,
} from "./check.ts";
import { plainTokenizer } from "./plain_tokenizer.ts";
import { type OracleAnswer, OracleError, renderByTransformers } from "./transformers_oracle.ts";

interface CheckFlags {
  python: string;
  json?: boolean;
}

const NOTES = `
FILE is a chat template in Jinja. DIR is the folder of a tokenizer (tokenizer.json and tokenizer_config.json), or holds
templates in files *.jinja. Each template is loaded and renders 40 chats: with system messages, thoughts, tools, calls
and results. If python3 has transformers, it renders the same chats, and the texts are compared. Then the command prints
in which form the template takes native calls and contents, and tries which token modes of 'rollout --train-out' the
template allows. Without a tokenizer, tokens are bytes.

Examples:
  paddock templates check Qwen3-0.6B
  paddock templates check my_template.jinja --python ~/venv/bin/python

Exit codes: 0 every template loads and nothing differs, 1 a template is refused or differs, 2 wrong usage,
130 interrupted.`;

/** Returns the command `templates`, which checks chat templates. */
export function templatesCommand(): Command {
  const command = new Command("templates").description("Check chat templates");
  command.addCommand(
    new Command("check")
      .description("render chats with a template, compare them with transformers, and try the token modes")
      .argument("<path>", "a template, a tokenizer's folder, or a folder of templates")
      .option("--python <program>", "Python with transformers and jinja2", "python3")
      .option("--json", "print one JSON object a template")
      .addHelpText("after", NOTES)
      .action((path: string, flags: CheckFlags) => runCommand((signal) => runCheck(path, flags, signal))),
  );
  return command;
}

async function runCheck(path: string, { python, json }: CheckFlags, signal: AbortSignal): Promise<number> {
  const { stdout, stderr } = currentIo();
  const templates = await readTemplates(path);
  const answer = await ask(templates, python, signal);
  if (typeof answer === "string") await writeText(stderr, `not compared: ${escapeControls(answer)}\n`);
  let isGood = true;
  for (const [at, template] of templates.entries()) {
    signal.throwIfAborted();
    const own = checkTemplate(template);
    const report = typeof answer === "string"
      ? own
      : compareReport(own, resultsOf(answer, at, templates.length));
    isGood &&= report.failure === null && (report.differences ?? []).length === 0;
    const versions = typeof answer === "string" ? undefined : answer.versions;
    const text = json
      ? `${escapeJsonControls(JSON.stringify({ ...report, versions: versions ?? null }))}\n`
      : formatReport(report, versions);
    await writeText(stdout, text);
  }
  return isGood ? EXIT.ok : EXIT.error;
}

function resultsOf({ results }: OracleAnswer, at: number, templates: number): OracleAnswer["results"] {
  const each = results.length / templates;
  return results.slice(at * each, (at + 1) * each);
}

/** Returns what transformers renders, or the reason why there is no comparison. */
async function ask(
  templates: readonly CheckedTemplate[],
  python: string,
  signal: AbortSignal,
): Promise<OracleAnswer | string> {
  try {
    return await renderByTransformers(templates.flatMap(oracleCases), { python, signal });
  } catch (error) {
    if (error instanceof OracleError) return error.message;
    throw error;
  }
}

/** Files of a tokenizer, which stand for the tokenizer's folder. */
const TOKENIZER_FILES: ReadonlySet<string> = new Set(["tokenizer_config.json", "tokenizer.json"]);

async function readTemplates(path: string): Promise<CheckedTemplate[]> {
  const info = await rethrowAsUsageError(() => Deno.stat(path), { prefix: `Cannot read '${path}'` });
  if (info.isFile && TOKENIZER_FILES.has(basename(path))) return [await readTokenizer(dirname(path))];
  if (!info.isDirectory) return [await readFile(path)];
  const names = (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).sort();
  const files = names.filter((name) => name.endsWith(".jinja"));
  const isTokenizer = names.includes("tokenizer_config.json") &&
    (names.includes("tokenizer.json") || files.length === 0);
  if (isTokenizer) return [await readTokenizer(path)];
  if (files.length > 0) return await Promise.all(files.map((name) => readFile(join(path, name))));
  throw new UsageError(
    `Cannot check templates as '${path}' must have tokenizer_config.json or files *.jinja: found neither`,
  );
}

/** Keeps a byte order mark and refuses other bytes than UTF-8, as Python does. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

async function readFile(path: string): Promise<CheckedTemplate> {
  if (path.endsWith(".json")) {
    throw new UsageError(
      `Cannot check template '${path}' as it must be Jinja, or tokenizer_config.json: it is another JSON file`,
    );
  }
  const source = await rethrowAsUsageError(async () => UTF8.decode(await Deno.readFile(path)), {
    prefix: `Cannot read '${path}'`,
  });
  const name = basename(path);
  return { name, source, tokenizer: plainTokenizer(name, source) };
}

async function readTokenizer(path: string): Promise<CheckedTemplate> {
  const tokenizer = await rethrowAsUsageError(() => loadTokenizer(path));
  const { name, chatTemplate } = tokenizer;
  if (chatTemplate !== undefined) return { name, source: chatTemplate, tokenizer };
  throw new UsageError(`Cannot check the template of tokenizer '${name}' as it must have one: found none`);
}

function formatReport(report: TemplateReport, versions: OracleAnswer["versions"] | undefined): string {
  const lines = [report.template];
  if (report.failure !== null) lines.push(`  ✗ cannot be loaded: ${report.failure}`);
  else lines.push(...formatOutcomes(report));
  if (report.differences !== null && versions !== undefined) {
    lines.push(...formatDifferences(report, report.differences, versions));
  }
  if (report.failure === null) {
    lines.push(
      `  native calls: ${formatCalls(report.calls)}`,
      `  contents: ${formatContents(report.rolesWithParts)}`,
      `  loss mask: ${
        report.hasGeneration ? "marked by {% generation %}" : "the contents of replies, as found in the text"
      }`,
    );
  }
  for (const { mode, problem } of report.modes) {
    lines.push(
      `  ${problem === null ? "✓" : "✗"} token mode ${mode}${problem === null ? "" : `: ${problem}`}`,
    );
  }
  return `${lines.map((line) => escapeControls(line)).join("\n")}\n`;
}

/** Describes how native calls are given to a template, in the order: arguments, content, number. */
function formatCalls(calls: TemplateReport["calls"]): string {
  if (calls === null) return "refused, as the template drops them; write calls as text";
  const { arguments: type, content, several } = calls;
  const contents = content.empty === content.null
    ? `content ${content.empty === null ? "null" : '""'} in place of ${
      content.empty === null ? '""' : "null"
    }`
    : 'content "" or null';
  return `arguments as ${type === "object" ? "an object" : "JSON text"}, ${contents}` +
    (several ? "" : ", one call a message");
}

function formatContents(rolesWithParts: readonly string[]): string {
  return rolesWithParts.length === 0
    ? "text"
    : `lists of parts for ${rolesWithParts.join(", ")}; text for other roles`;
}

function formatOutcomes({ outcomes }: TemplateReport): string[] {
  const refused = outcomes.flatMap((outcome) => "error" in outcome ? [outcome] : []);
  const reasons = Map.groupBy(refused, ({ error }) => error);
  return [
    `  renders ${outcomes.length - refused.length} of ${outcomes.length} chats`,
    ...[...reasons].map(([error, chats]) =>
      `    refuses ${chats.map(({ chat }) => `'${chat}'`).join(", ")}: ${error}`
    ),
  ];
}

function formatDifferences(
  { outcomes, failure }: TemplateReport,
  differences: NonNullable<TemplateReport["differences"]>,
  { transformers, jinja2 }: OracleAnswer["versions"],
): string[] {
  const oracle = `transformers ${transformers} with Jinja2 ${jinja2}`;
  if (differences.length === 0 && failure !== null) return [`  ✓ refused by ${oracle} too`];
  if (differences.length === 0) return [`  ✓ the same as ${oracle} in all ${outcomes.length} chats`];
  return [
    `  ✗ differs from ${oracle} in ${differences.length} chats`,
    ...differences.flatMap(({ chat, paddock, transformers }) => [
      `    ${chat}`,
      `      transformers ${transformers}`,
      `      paddock      ${paddock}`,
    ]),
  ];
}
