import { join } from "node:path";
import type { PythonSession } from "../sandbox/exec.ts";

/** What it takes to start an interpreter, to run `1+1` in it, and to put it back. */
export interface Times {
  readonly startMs: number;
  readonly execMs: number;
  readonly rewindMs: number;
}

/** Measures a session; medians, after some runs that do not count. */
export async function measure(session: PythonSession, signal: AbortSignal): Promise<Omit<Times, "startMs">> {
  const exec = async () => void await session.exec("1+1", { signal });
  const rewind = async () => await session.reset({ mode: "rewind", signal });
  await medianMs(5, exec);
  return { execMs: await medianMs(20, exec), rewindMs: await medianMs(5, rewind) };
}

async function medianMs(times: number, work: () => Promise<void>): Promise<number> {
  const measured: number[] = [];
  for (let run = 0; run < times; run++) {
    const startedAt = performance.now();
    await work();
    measured.push(performance.now() - startedAt);
  }
  return measured.sort((a, b) => a - b)[times >> 1] ?? NaN;
}

/** What the files of a directory take, those of its directories included. */
export async function measureDirectoryBytes(directory: string): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = join(directory, name);
    bytes += isDirectory ? await measureDirectoryBytes(path) : (await Deno.lstat(path)).size;
  }
  return bytes;
}

/** Whether a version, of three numbers, is not before another. */
export function isAtLeast(version: string, least: string): boolean {
  const numbers = (text: string) => text.split(/[.+-]/).slice(0, 3).map(Number);
  const needed = numbers(least);
  const differing = numbers(version).map((number, at) => number - (needed[at] ?? 0)).find((by) => by !== 0);
  return (differing ?? 0) >= 0;
}
