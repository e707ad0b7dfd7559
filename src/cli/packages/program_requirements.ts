import { dirname, join } from "node:path";
import { satisfies, validRange } from "@renovatebot/pep440";
import { parse } from "smol-toml";
import * as z from "zod";
import { errorMessage } from "../../errors.ts";
import { readDistributionLock } from "../../sandbox/image/pyodide.ts";
import { UsageError } from "../cli_errors.ts";
import { requirementName } from "./requirement.ts";

const scriptSchema = z.object({
  dependencies: z.array(z.string("'dependencies' must be an array of strings"), {
    error: "'dependencies' must be an array of strings",
  }).default([]),
  "requires-python": z.string("'requires-python' must be a string")
    .refine(validRange, "'requires-python' must be a version specifier").optional(),
});

/**
 * Returns the requirements of a program: the requirements of the inline metadata (PEP 723), else of the file
 * `requirements.txt` beside the program.
 *
 * @throws {UsageError} if there is neither, or either cannot be read.
 */
export async function readProgramRequirements(path: string): Promise<string[]> {
  const { info } = await readDistributionLock();
  const inline = inlineRequirements(await readText(path), { source: path, python: info.python });
  if (inline !== undefined) return inline;
  const file = join(dirname(path), "requirements.txt");
  try {
    return requirementsOf(await Deno.readTextFile(file), file);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new UsageError(
      `Cannot run '${path}' with its packages as it must have a block '# /// script', or a file '${file}'`,
    );
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    throw new UsageError(`Cannot read '${path}': ${errorMessage(cause)}`, { cause });
  }
}

/**
 * Returns the dependencies in the metadata of a program; `undefined` without metadata.
 *
 * @throws {UsageError} if the metadata is malformed, or requires another version of Python.
 */
export function inlineRequirements(
  program: string,
  { source, python }: { source: string; python: string },
): string[] | undefined {
  const lines = program.split(/\r?\n/);
  const start = lines.indexOf("# /// script");
  if (start === -1) return undefined;
  const block = lines.slice(start + 1);
  const length = block.findIndex((line) => line !== "#" && !line.startsWith("# "));
  const comments = length === -1 ? block : block.slice(0, length);
  const end = comments.lastIndexOf("# ///");
  if (end === -1) {
    throw new UsageError(`Cannot read metadata of '${source}' as its block must end with '# ///'`);
  }
  const toml = comments.slice(0, end).map((line) => line.slice(2)).join("\n");
  const { dependencies, "requires-python": range } = parseMetadata(toml, source);
  if (range !== undefined && !satisfies(python, range)) {
    throw new UsageError(`Cannot run '${source}' as it requires Python ${range}: the sandbox has ${python}`);
  }
  for (const requirement of dependencies) requirementName(requirement);
  return dependencies;
}

function parseMetadata(toml: string, source: string): z.infer<typeof scriptSchema> {
  try {
    return scriptSchema.parse(parse(toml));
  } catch (cause) {
    const reason = cause instanceof z.ZodError
      ? cause.issues[0]?.message
      : errorMessage(cause).split("\n")[0];
    throw new UsageError(`Cannot read metadata of '${source}': ${reason}`, { cause });
  }
}

/**
 * Returns the requirements of a file in pip's format. The file may have comments, and requirements by name only.
 *
 * @throws {UsageError} if a line has something else, such as an option or a path.
 */
export function requirementsOf(text: string, source: string): string[] {
  const lines = text.replaceAll(/\\\r?\n/g, " ").split(/\r?\n/).map((line) =>
    line.replace(/(^|\s)#.*$/, "").trim()
  );
  const found = lines.filter((line) => line !== "");
  for (const line of found) {
    const isOption = line.startsWith("-") || line.includes("--");
    if (isOption) {
      throw new UsageError(`Cannot read '${source}' as it must have requirements only: found '${line}'`);
    }
    requirementName(line);
  }
  return found;
}
