import { join } from "node:path";
import { WHEELS } from "../../src/rewards/math/math_verify/wheels.ts";
import { escapeControls } from "../../src/terminal_text.ts";

/** A version that the clone names, of a package of a registry. */
export interface Pin {
  readonly name: string;
  readonly registry: "npm" | "PyPI";
  readonly version: string;
}

/** A pin, and the newest version that its registry has. */
export interface CheckedPin extends Pin {
  readonly newest: string;
}

/** Asks a registry for the newest version of a package. Throws a {@linkcode RegistryError} if it does not answer. */
export type FindNewest = (pin: Pin, signal: AbortSignal) => Promise<string>;

/** A registry does not answer, or not with a version. */
export class RegistryError extends Error {
  override readonly name = "RegistryError";
}

const NPM = /^npm:\/?((?:@[\w.-]+\/)?[\w.-]+)@([\w.-]+)/;

/** Returns the versions of a clone: of Deno, of each package of npm that deno.json names, and of wheels of PyPI. */
export async function readPins(root: string): Promise<Pin[]> {
  const { engines, imports } = JSON.parse(await Deno.readTextFile(join(root, "deno.json"))) as {
    engines: { deno: string };
    imports: Record<string, string>;
  };
  const standard = await readStandardLibrary(root);
  const zones = JSON.parse(await Deno.readTextFile(join(root, "src/sandbox/image/zoneinfo.json"))) as {
    source: string;
  };
  const specifiers = [`npm:deno@${engines.deno}`, ...Object.values(imports), ...standard];
  const packages = new Map(specifiers.flatMap((specifier) => {
    const [, name, version] = NPM.exec(specifier) ?? [];
    return name !== undefined && version !== undefined ? [[name, version] as const] : [];
  }));
  const [, tzdata = ""] = /^tzdata-([\d.]+)-/.exec(zones.source) ?? [];
  return [
    ...[...packages].map(([name, version]): Pin => ({ name, registry: "npm", version })),
    ...WHEELS.map(({ name, version }): Pin => ({ name, registry: "PyPI", version })),
    { name: "tzdata", registry: "PyPI", version: tzdata },
  ];
}

/** Returns the specifiers of the standard library, which is imported by files of their own. */
async function readStandardLibrary(root: string): Promise<string[]> {
  const folder = join(root, "src/std");
  const files = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  const texts = await Promise.all(files.map((name) => Deno.readTextFile(join(folder, name))));
  return texts.flatMap((text) => text.match(/npm:[^"]+/g) ?? []);
}

/** Requests that are under way at once: each is a process. */
const MAX_REQUESTS = 4;

/**
 * Returns the pins with their newest versions, in the same order.
 *
 * @throws {RegistryError} if a registry does not answer; the message names the first package that was asked for.
 */
export async function checkPins(
  pins: readonly Pin[],
  { find = findNewest, signal }: { find?: FindNewest; signal: AbortSignal },
): Promise<CheckedPin[]> {
  const checked: CheckedPin[] = [];
  const waiting = [...pins.entries()];
  const failed = new AbortController();
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [place, pin] = next;
      checked[place] = { ...pin, newest: await find(pin, AbortSignal.any([signal, failed.signal])) };
    }
  };
  try {
    await Promise.all(Array.from({ length: MAX_REQUESTS }, work));
  } catch (error) {
    failed.abort(error);
    waiting.length = 0;
    throw error;
  }
  return checked;
}

/** Asks npm or pip. */
async function findNewest({ name, registry }: Pin, signal: AbortSignal): Promise<string> {
  const command = registry === "npm"
    ? ["npm", "view", name, "version", "--fetch-retries=0"]
    : ["python3", "-m", "pip", "index", "versions", name, "--retries", "0", "--disable-pip-version-check"];
  const [program = "", ...args] = command;
  const { success, stdout, stderr } = await run(program, args, signal);
  if (!success) {
    throw new RegistryError(
      `Cannot read the newest version of '${name}' as ${registry} must answer: found ${
        escapeControls((stderr || stdout).trim().split("\n").slice(0, 2).join("; "))
      }`,
    );
  }
  const newest = registry === "npm" ? stdout.trim() : /\(([^)\s]+)\)/.exec(stdout)?.[1] ?? "";
  if (/^[\w.+!-]+$/.test(newest)) return newest;
  throw new RegistryError(`Cannot read the newest version of '${name}' as ${registry} names none`);
}

async function run(
  program: string,
  args: string[],
  signal: AbortSignal,
): Promise<{ success: boolean; stdout: string; stderr: string }> {
  try {
    const { success, stdout, stderr } = await new Deno.Command(program, { args, signal, stdin: "null" })
      .output();
    const decoder = new TextDecoder();
    signal.throwIfAborted();
    return { success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { success: false, stdout: "", stderr: `no program '${program}'` };
  }
}

/** Versions of what comes with Pyodide and is upgraded with it. */
export interface PyodideParts {
  readonly python: string;
  /** The platform of Emscripten, such as `emscripten_5_0_3`. */
  readonly platform: string;
}

/** Formats the pins that are behind, and how many are not. */
export function formatBehind(pins: readonly CheckedPin[], { python, platform }: PyodideParts): string {
  const behind = pins.filter(({ version, newest }) => version !== newest);
  const rows = [["package", "registry", "pinned", "newest"]];
  for (const { name, registry, version, newest } of behind) rows.push([name, registry, version, newest]);
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const table = rows.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()
  );
  const others = pins.length - behind.length;
  return [
    ...(behind.length === 0 ? [] : [...table, ""]),
    `${behind.length} of ${pins.length} packages behind, ${others} at the newest version`,
    `With Pyodide come CPython ${python} and ${platform.replace("_", " ").replaceAll("_", ".")}`,
    "",
  ].join("\n");
}
