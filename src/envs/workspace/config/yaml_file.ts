import * as z from "zod";
import { errorMessage } from "../../../errors.ts";
import { parseYaml, type YamlText } from "../yaml_text.ts";

/** Maximum size of a file, which bounds the cost of parsing. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_SHOWN = 60;

/** A YAML file as read. */
export class YamlFile {
  /** As it was given. */
  readonly path: string;
  /** Kind of the file, for messages: `task`, `dataset`, `agent`. */
  readonly subject: string;
  readonly value: unknown;
  readonly #yaml: YamlText;

  private constructor(path: string, parts: { subject: string; yaml: YamlText }) {
    this.path = path;
    this.subject = parts.subject;
    this.value = parts.yaml.value;
    this.#yaml = parts.yaml;
  }

  /**
   * Reads a YAML file.
   *
   * @throws {Deno.errors.NotFound} when there is none.
   * @throws {SyntaxError} when the file is no YAML, with the line.
   */
  static async read(path: string, subject: string): Promise<YamlFile> {
    const text = await readText(path, subject);
    try {
      return new YamlFile(path, { subject, yaml: parseYaml(text) });
    } catch (cause) {
      const why = errorMessage(cause);
      throw new SyntaxError(`Cannot read ${subject} at '${path}' as it must be YAML: ${why}`, { cause });
    }
  }

  /**
   * The value as the schema returns the value.
   *
   * @throws {SyntaxError} when the value has another shape, with the line of the first thing that is wrong.
   */
  parse<Schema extends z.core.$ZodType>(schema: Schema): z.output<Schema> {
    const parsed = z.safeParse(schema, this.value);
    if (parsed.success) return parsed.data;
    const { issues } = parsed.error;
    // a missing key may be present under a misspelled name
    const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
    if (issue === undefined) throw this.fault([], "it has another shape");
    if (issue.code === "unrecognized_keys") {
      const [key = ""] = issue.keys;
      throw this.fault([...issue.path, key], `'${dotted([...issue.path, key])}' is an unknown key`);
    }
    const current = valueAt(this.value, issue.path);
    if (issue.path.length === 0) {
      throw this.fault([], `it must be a list of keys and values: it is ${shown(current)}`);
    }
    const name = `'${dotted(issue.path)}'`;
    if (current === undefined) throw this.fault(issue.path, `${name} ${issue.message}: it is missing`);
    throw this.fault(issue.path, `${name} ${issue.message}: current value is ${shown(current)}`);
  }

  /** The line of a key, or of the innermost that there is. */
  lineOf(path: readonly PropertyKey[]): number {
    return this.#yaml.lineOf(path);
  }

  /** An error that names the file and the line of a key. */
  fault(path: readonly PropertyKey[], what: string, options?: ErrorOptions): SyntaxError {
    return new SyntaxError(
      `Cannot read ${this.subject} at '${this.path}', line ${this.lineOf(path)}: ${what}`,
      options,
    );
  }
}

async function readText(path: string, subject: string): Promise<string> {
  let bytes: Uint8Array;
  try {
    const { size } = await Deno.stat(path);
    if (size > MAX_BYTES) {
      throw new SyntaxError(
        `Cannot read ${subject} at '${path}' as it must have at most ${MAX_BYTES} bytes: it has ${size}`,
      );
    }
    bytes = await Deno.readFile(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) {
      throw new Deno.errors.NotFound(`Cannot read ${subject} at '${path}': there is no such file`, { cause });
    }
    if (cause instanceof SyntaxError) throw cause;
    const why = errorMessage(cause);
    throw new SyntaxError(`Cannot read ${subject} at '${path}' as it must be a file to read: ${why}`, {
      cause,
    });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SyntaxError(`Cannot read ${subject} at '${path}' as its text must be UTF-8: it is not`, {
      cause,
    });
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

function dotted(path: readonly PropertyKey[]): string {
  return path.map((key, at) => typeof key === "number" ? `[${key}]` : `${at === 0 ? "" : "."}${String(key)}`)
    .join("");
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}
