import { basename, join } from "node:path";
import { Command } from "commander";
import { loadTokenizer } from "../../chat/load_tokenizer.ts";
import { escapeControls, escapeJsonControls } from "../../terminal_text.ts";
import { EXIT, runCommand } from "../command.ts";
import { rethrowAsUsageError, UsageError } from "../errors.ts";
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
and results. If python3 has transformers, it renders the same chats, and the texts are compared. Then the command tries
which token modes of 'rollout --train-out' the template allows. Without a tokenizer, tokens are bytes.

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

async function readTemplates(path: string): Promise<CheckedTemplate[]> {
  const info = await rethrowAsUsageError(() => Deno.stat(path));
  if (info.isFile) return [await readFile(path)];
  const names = (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).sort();
  if (names.includes("tokenizer_config.json")) return [await readTokenizer(path)];
  const files = names.filter((name) => name.endsWith(".jinja"));
  if (files.length > 0) return await Promise.all(files.map((name) => readFile(join(path, name))));
  throw new UsageError(
    `Cannot check templates as '${path}' must have tokenizer_config.json or files *.jinja: found neither`,
  );
}

async function readFile(path: string): Promise<CheckedTemplate> {
  const source = await rethrowAsUsageError(() => Deno.readTextFile(path));
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
  { outcomes }: TemplateReport,
  differences: NonNullable<TemplateReport["differences"]>,
  { transformers, jinja2 }: OracleAnswer["versions"],
): string[] {
  const oracle = `transformers ${transformers} with Jinja2 ${jinja2}`;
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
