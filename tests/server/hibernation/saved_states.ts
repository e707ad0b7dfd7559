import { join } from "node:path";
import type { Checkpoint } from "../../../src/sandbox/contract/checkpoint.ts";
import { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import type { SessionRecord } from "../../../src/server/hibernation/session_record.ts";
import { readFakeCheckpoint } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";

/** Returns a checkpoint of a session with a counter. */
export async function checkpointOf(count: number): Promise<Checkpoint> {
  return await readFakeCheckpoint(new TextEncoder().encode(JSON.stringify([["count", count]])));
}

/** Ids of the sessions of {@linkcode reopenAfter}. */
export const [ID, OTHER_ID] = ["a".repeat(32), "b".repeat(32)];

export const HOUR_MS = 3_600_000;

/** Returns the time in so many milliseconds. */
export function timeIn(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

/** Returns the record of a session that was used now. */
export function recordOf(
  id: string,
  checkpoint: Checkpoint,
  more: Partial<SessionRecord> = {},
): SessionRecord {
  const time = timeIn(0);
  return {
    format: 1,
    id,
    owner: "ada",
    checkpoint: checkpoint.id,
    createdAt: time,
    usedAt: time,
    execs: 1,
    isPaused: false,
    pausesAtEnd: false,
    ...more,
  };
}

/** Saves the sessions `ID` and `OTHER_ID` of two owners, changes the files, and opens the directory again. */
export async function reopenAfter(
  change: (folder: string) => Promise<unknown>,
  check: (directory: StateDirectory, warnings: string[]) => Promise<void> | void,
): Promise<void> {
  await using folder = await TempFolder.of();
  const path = join(folder.path, "state");
  {
    using directory = await StateDirectory.open(path, { read: readFakeCheckpoint });
    const [one, two] = [await checkpointOf(1), await checkpointOf(2)];
    await directory.save(recordOf(ID, one), one);
    await directory.save(recordOf(OTHER_ID, two, { owner: "eve" }), two);
  }
  await change(path);
  const warnings: string[] = [];
  const onWarning = (message: string) => warnings.push(message);
  using directory = await StateDirectory.open(path, { read: readFakeCheckpoint, onWarning });
  await check(directory, warnings);
}

/** Returns the ids of the sessions that can continue. */
export function idsOf({ sessions }: StateDirectory): string[] {
  return sessions.filter(({ unusable }) => !unusable).map(({ record: { id } }) => id).toSorted();
}

/** Returns the names of the files of a directory. */
export async function namesOf({ path }: StateDirectory): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(path), ({ name }) => name)).toSorted();
}
