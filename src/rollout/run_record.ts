import * as z from "zod";

/** Version of the format of {@linkcode RunRecord}. */
export const RUN_RECORD_FORMAT = 1;

/** Maximum size of a record, in bytes. */
const MAX_RECORD_BYTES = 4 * 1024 * 1024;

const setting = z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.string())]);

const playedRun = z.object({
  startedAt: z.string(),
  paddock: z.string(),
  command: z.string(),
  settings: z.record(z.string(), setting),
  data: z.array(z.object({ path: z.string(), bytes: z.number(), sha256: z.string() })),
});

const runRecord = z.object({ format: z.literal(RUN_RECORD_FORMAT), runs: z.array(playedRun) });

/** Value of a setting: of an option, with a hash if the option names a file. `null` means no value. */
export type RunSetting = z.output<typeof setting>;

/** A run over tasks, as started. */
export interface PlayedRun {
  /** Time in ISO format. */
  readonly startedAt: string;
  /** Version of Paddock. */
  readonly paddock: string;
  /** Command line, without users, passwords and queries in addresses. */
  readonly command: string;
  /** Options that change what an episode is, by name. */
  readonly settings: Readonly<Record<string, RunSetting>>;
  /** Files of the tasks; empty for stdin and for tasks that are no file. */
  readonly data: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[];
}

/** Records of the runs of a file of episodes: the first run, and the runs that continued it. */
export interface RunRecord {
  readonly format: typeof RUN_RECORD_FORMAT;
  readonly runs: readonly PlayedRun[];
}

/** Returns the path of the record of a file of episodes. */
export function runRecordPath(path: string): string {
  return `${path}.run.json`;
}

/**
 * Reads the record of a file of episodes. Returns `undefined` if there is no record.
 *
 * @throws {SyntaxError} if the record is damaged, or of a newer version.
 */
export async function readRunRecord(path: string): Promise<RunRecord | undefined> {
  const file = runRecordPath(path);
  const info = await Deno.lstat(file).catch(() => undefined); // there is no such file
  if (info === undefined) return undefined;
  const start = `Cannot read '${file}' as it must be the record of a run`;
  if (!info.isFile || info.size > MAX_RECORD_BYTES) {
    throw new SyntaxError(`${start}: it is no file of at most ${MAX_RECORD_BYTES} bytes`);
  }
  let value: unknown;
  try {
    value = JSON.parse(await Deno.readTextFile(file));
  } catch (cause) {
    throw new SyntaxError(`${start}: it is not JSON`, { cause });
  }
  const { success, data } = runRecord.safeParse(value);
  if (success) return data;
  throw new SyntaxError(
    `${start} of format ${RUN_RECORD_FORMAT}: found format ${Number(Object(value).format)}`,
  );
}

/** Writes the record of a file of episodes. */
export async function writeRunRecord(path: string, record: RunRecord): Promise<void> {
  const file = runRecordPath(path);
  await Deno.writeTextFile(`${file}.new`, `${JSON.stringify(record, null, 2)}\n`);
  await Deno.rename(`${file}.new`, file);
}

/** A setting that differs between two runs. */
export interface SettingDifference {
  readonly name: string;
  readonly first: RunSetting;
  readonly second: RunSetting;
}

/**
 * Returns the settings that differ, sorted by name. `defaults` are the values of settings that an older version has not
 * recorded.
 */
export function settingDifferences(
  first: PlayedRun["settings"],
  second: PlayedRun["settings"],
  defaults: PlayedRun["settings"] = {},
): SettingDifference[] {
  const names = [...new Set([...Object.keys(first), ...Object.keys(second)])].sort();
  const valueOf = (settings: PlayedRun["settings"], name: string) => settings[name] ?? defaults[name] ?? null;
  return names.map((name) => ({ name, first: valueOf(first, name), second: valueOf(second, name) }))
    .filter((one) => JSON.stringify(one.first) !== JSON.stringify(one.second));
}

/** Returns how the data of two runs differ, as text: nothing if their hashes are equal. */
export function dataDifferences(
  first: PlayedRun,
  second: PlayedRun,
): { readonly name: "data"; readonly first: string; readonly second: string }[] {
  const hashes = ({ data }: PlayedRun) => data.map(({ sha256 }) => sha256).join();
  const text = ({ data }: PlayedRun) =>
    data.map(({ path, sha256 }) => `${path} (sha256 ${sha256.slice(0, 16)})`).join(", ") || "none";
  return hashes(first) === hashes(second) ? [] : [{ name: "data", first: text(first), second: text(second) }];
}

/** Returns a setting as text; `none` for `null`. */
export function settingText(value: RunSetting): string {
  if (value === null) return "none";
  return Array.isArray(value) ? value.join(", ") : String(value);
}
