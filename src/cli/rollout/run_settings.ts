import { createHash } from "node:crypto";
import { basename } from "node:path";
import { findDatasetFiles } from "../../datasets/files.ts";
import {
  type PlayedRun,
  readRunRecord,
  RUN_RECORD_FORMAT,
  type RunSetting,
  settingDifferences,
  settingText,
  writeRunRecord,
} from "../../rollout/run_record.ts";
import { PADDOCK_VERSION } from "../../version.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { flagOf, type OptionTable } from "../option_table.ts";
import { envKindOf } from "./envs.ts";
import { ROLLOUT_OPTIONS, type RolloutOptionRow } from "./options.ts";

const ROWS: OptionTable<RolloutOptionRow> = ROLLOUT_OPTIONS;

/** What {@linkcode describeRun} needs to know. */
export interface RunDescription {
  /** All options of the run by name. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** Values in place of options' values, such as defaults that depend on the env. */
  readonly effective: Readonly<Record<string, RunSetting | undefined>>;
  /** Path of the file with exchanges that the profile replays. */
  readonly replay?: string | undefined;
  /** Arguments of the command line. */
  readonly args: readonly string[];
}

/** Describes a run from the options. Files that options name are hashed. */
export async function describeRun({ flags, effective, args, replay }: RunDescription): Promise<PlayedRun> {
  const settings: Record<string, RunSetting> = {};
  for (const [name, row] of Object.entries(ROWS)) {
    const isOfEnv = row.envs?.includes(envKindOf(String(flags.env))) ?? true;
    if (row.isKept === false || !isOfEnv) continue;
    const value = name in effective ? effective[name] : flags[name];
    if (value === undefined || value === false) continue;
    const list = Array.isArray(value);
    const texts = await Promise.all((list ? value : [value]).map((item) => settingOf(item)));
    settings[name] = list ? texts.map(String) : texts[0] ?? null;
  }
  if (replay !== undefined) settings.fixtures = await settingOf(replay);
  const { tasks, split } = flags;
  return {
    startedAt: new Date().toISOString(),
    paddock: PADDOCK_VERSION,
    command: ["paddock", ...args].map(quote).join(" "),
    settings,
    data: typeof tasks === "string"
      ? await hashData(tasks, typeof split === "string" ? split : undefined)
      : [],
  };
}

/** Returns the value of an option, without the address of a server, which does not change an episode. */
async function settingOf(value: unknown): Promise<RunSetting> {
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  const text = String(value);
  const [, scheme] = /^([a-z][\w+-]*):https?:/i.exec(text) ?? [];
  if (scheme !== undefined) return scheme;
  const [, path = text, rest = ""] = /^(?:scripted:)?([^]*?)(=[-+.\de]+)?$/.exec(text) ?? [];
  const hash = /[/\\.]/.test(path) ? await hashFile(path) : undefined;
  return hash === undefined ? withoutSecrets(text) : `${basename(path)}${rest} (sha256 ${hash.slice(0, 16)})`;
}

async function hashData(tasks: string, split: string | undefined): Promise<PlayedRun["data"]> {
  const { isFile, isDirectory } = await Deno.stat(tasks);
  if (!isFile && !isDirectory) return [];
  const files = await findDatasetFiles(tasks, { split }).catch(() => []); // reported when the tasks are read
  return await Promise.all(files.map(async (path) => ({
    path,
    bytes: (await Deno.stat(path)).size,
    sha256: await hashFile(path) ?? "",
  })));
}

/** Returns the SHA-256 of a file in hexadecimal digits; `undefined` if the path is not a readable file. */
async function hashFile(path: string): Promise<string | undefined> {
  const info = await Deno.stat(path).catch(() => undefined); // many values of options are no paths
  if (!info?.isFile) return undefined;
  using file = await Deno.open(path);
  const hash = createHash("sha256");
  const buffer = new Uint8Array(256 * 1024);
  for (let size = await file.read(buffer); size !== null; size = await file.read(buffer)) {
    hash.update(buffer.subarray(0, size));
  }
  return hash.digest("hex");
}

function quote(word: string): string {
  const text = withoutSecrets(word);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Removes what may be secret from addresses: the user, the password and the query. */
function withoutSecrets(text: string): string {
  return text.replace(/(https?:\/\/)(?:[^/@\s]*@)?([^\s?]*)(\?\S*)?/g, "$1$2");
}

/** Defaults of the options, for settings that an older version has not recorded. */
function defaultSettings(): PlayedRun["settings"] {
  return Object.fromEntries(
    Object.entries(ROWS).map(([name, row]) => [name, row.default ?? null]),
  );
}

/**
 * Checks that a run which continues a file has the settings of the earlier ones. A file of an older version without a
 * record is accepted.
 *
 * @throws {UsageError} if a setting differs; the message names each.
 */
export async function requireSameSettings(path: string, { settings }: PlayedRun): Promise<void> {
  const record = await rethrowAsUsageError(() => readRunRecord(path));
  const earlier = record?.runs.at(-1);
  if (earlier === undefined) return;
  const differences = settingDifferences(earlier.settings, settings, defaultSettings());
  if (differences.length === 0) return;
  const texts = differences.map(({ name, first, second }) =>
    `${flagOf(name)} was ${shorten(settingText(first))} and is ${shorten(settingText(second))}`
  );
  throw new UsageError(
    `Cannot resume '${path}' as its episodes must have the same settings: ${texts.join("; ")}. ` +
      "Give the earlier ones, or another file",
  );
}

/** Records a run beside the file of episodes, after the earlier runs of the file. A device or a pipe has no record. */
export async function recordRun(path: string, run: PlayedRun, options: { resume: boolean }): Promise<void> {
  const info = await Deno.stat(path).catch(() => undefined); // the file is created with the first episode
  if (info !== undefined && !info.isFile) return;
  const earlier = options.resume ? (await readRunRecord(path))?.runs ?? [] : [];
  await writeRunRecord(path, { format: RUN_RECORD_FORMAT, runs: [...earlier, run] });
}

/** Options of {@linkcode recordGrade}. */
export interface GradeRecordOptions {
  /** File of the episodes that were graded. */
  readonly source: string;
  readonly flags: object;
  /** Arguments of the command line. */
  readonly args: readonly string[];
}

/** Options of `grade` that decide about rewards. */
const GRADE_SETTINGS = ["grader", "graderAllow", "judge", "judgeModel"];

/**
 * Records beside a file of graded episodes what their run was, with the graders of this command. Episodes without a
 * record, such as those from stdin, get none.
 */
export async function recordGrade(path: string, { source, flags, args }: GradeRecordOptions): Promise<void> {
  const info = await Deno.stat(path).catch(() => undefined);
  const runs = (await rethrowAsUsageError(() => readRunRecord(source)))?.runs ?? [];
  const last = runs.at(-1);
  if (last === undefined || (info !== undefined && !info.isFile)) return;
  const given = Object.entries(flags).filter(([name]) => GRADE_SETTINGS.includes(name));
  const graded = await describeRun({ flags: Object.fromEntries(given), effective: {}, args });
  const kept = Object.entries(last.settings).filter(([name]) => !GRADE_SETTINGS.includes(name));
  const settings = { ...Object.fromEntries(kept), ...graded.settings };
  await writeRunRecord(path, {
    format: RUN_RECORD_FORMAT,
    runs: [...runs, { ...graded, settings, data: last.data }],
  });
}

function shorten(text: string): string {
  return text.length > 100 ? `'${text.slice(0, 100)}…'` : `'${text}'`;
}
