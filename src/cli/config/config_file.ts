import { type Command, Option } from "commander";
import { closest } from "fastest-levenshtein";
import { dirname, resolve } from "node:path";
import { JsoncFile, type JsoncNode } from "../../jsonc.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { readText } from "../input.ts";
import { describeRange, isInRange } from "../options.ts";
import { type ConfigKey, configKeys, type TextMeaning } from "./config_keys.ts";
import { CONFIGURED } from "./config_schema.ts";

const MAX_BYTES = 1024 * 1024;

/** Source of options that the configuration file sets, in commander's record. */
const CONFIG_SOURCE = "config";

/** Returns the option `--config`. */
export function configOption(): Option {
  return new Option("--config <file>", "JSONC file with options of this command; those given here win");
}

/** Returns true if the command line or the configuration file sets an option. */
export function isSet(command: Command, name: string): boolean {
  return ["cli", CONFIG_SOURCE].includes(command.getOptionValueSource(name) ?? "");
}

/**
 * Sets the options of a command from the command's section of the file of `--config`. An option on the command line wins,
 * also over a conflicting key. Relative paths are relative to the folder of the file.
 *
 * @throws {UsageError} if the file cannot be read, or has an unknown key or a value of the wrong type. The message has the
 * line and the column.
 */
export async function applyConfig(command: Command): Promise<void> {
  const { config: path } = command.opts<{ config?: string }>();
  if (path === undefined) return;
  const text = await readText(path, { maxBytes: MAX_BYTES });
  const file = await rethrowAsUsageError(() => new ConfigFile(path, text));
  const keys = configKeys(command);
  const values = file.readSection(command.name(), keys);
  for (const [key, { node }] of values) refuseConflict(key, { node, values, file });
  const given = [...keys.values()].filter(({ name, owner }) => owner.getOptionValueSource(name) === "cli");
  for (const [key, { value }] of values) {
    const isOverruled = given.some((other) => other === key || areInConflict(other, key));
    if (!isOverruled) key.owner.setOptionValueWithSource(key.name, value, CONFIG_SOURCE);
  }
}

function areInConflict(one: ConfigKey, other: ConfigKey): boolean {
  return one.conflicts.includes(other.name) || other.conflicts.includes(one.name);
}

type Values = Map<ConfigKey, { readonly value: unknown; readonly node: JsoncNode }>;

/** Refuses two keys of the file that cannot be used together. `false` counts as absent. */
function refuseConflict(
  key: ConfigKey,
  { node, values, file }: { node: JsoncNode; values: Values; file: ConfigFile },
): void {
  if (node.value === false) return;
  for (const [other, { node: otherNode }] of values) {
    if (!areInConflict(key, other) || otherNode.value === false) continue;
    throw file.error(node, `as '${key.name}' cannot be used with '${other.name}': remove one of them`);
  }
}

/** A configuration file: JSON with comments and trailing commas. */
class ConfigFile {
  readonly #file: JsoncFile;
  readonly #folder: string;

  /** @throws {JsoncError} if the text is not valid. */
  constructor(path: string, text: string) {
    this.#file = new JsoncFile(text, `'${path}'`);
    this.#folder = dirname(resolve(path));
  }

  /** Returns the values of a section. Other sections are checked to be objects only. */
  readSection(command: string, keys: ReadonlyMap<string, ConfigKey>): Values {
    const values: Values = new Map();
    const { root } = this.#file;
    if (root.type !== "object") throw this.error(root, "as it must be an object: found something else");
    for (const [name, { key, value }] of this.#file.members(root)) {
      if (name === "$schema") {
        if (value.type !== "string") throw this.#wrongType(value, { name, needs: "a string" });
        continue;
      }
      if (!CONFIGURED.includes(name)) {
        const hint = keys.has(name) ? `put it into '${command}'` : nearest(name, ["$schema", ...CONFIGURED]);
        throw this.error(key, `as '${name}' is not one of ${CONFIGURED.join(", ")}: ${hint}`);
      }
      if (value.type !== "object") throw this.#wrongType(value, { name, needs: "an object" });
      if (name !== command) continue;
      for (const [option, member] of this.#file.members(value)) {
        const found = keys.get(option);
        if (found === undefined) {
          throw this.error(
            member.key,
            `as '${option}' is not an option of '${command}': ${nearest(option, [...keys.keys()])}`,
          );
        }
        values.set(found, { value: this.#valueOf(member.value, found), node: member.value });
      }
    }
    return values;
  }

  /** Returns the error for a place in the file. `reason` starts with `as`. */
  error(place: JsoncNode, reason: string): UsageError {
    const error = this.#file.error(place, reason);
    return new UsageError(error.message, { cause: error });
  }

  #valueOf(node: JsoncNode, key: ConfigKey): unknown {
    if (!key.isList) return this.#scalarOf(node, key);
    const items = node.type === "array" ? node.children ?? [] : [node];
    return items.map((item) => this.#scalarOf(item, key));
  }

  #scalarOf(node: JsoncNode, { name, type, meaning, isList }: ConfigKey): unknown {
    const { value } = node;
    const list = isList ? ", or a list of these" : "";
    switch (type.kind) {
      case "boolean":
        if (typeof value === "boolean") return value;
        throw this.#wrongType(node, { name, needs: "true or false" });
      case "number":
        if (typeof value === "number" && isInRange(value, type.range)) return value;
        throw this.#wrongType(node, { name, needs: `${describeRange(type.range)}${list}` });
      case "choice":
        if (type.names.includes(value)) return value;
        throw this.#wrongType(node, { name, needs: `one of ${type.names.join(", ")}${list}` });
      case "string":
        if (typeof value === "string" && value !== "") return resolveText(value, meaning, this.#folder);
        throw this.#wrongType(node, { name, needs: `a string that is not empty${list}` });
    }
  }

  #wrongType(node: JsoncNode, { name, needs }: { name: string; needs: string }): UsageError {
    const text = this.#file.textOf(node);
    const found = node.type === "object" || node.type === "array" ? `an ${node.type}` : text.slice(0, 40);
    return this.error(node, `as '${name}' must be ${needs}: found ${found}`);
  }
}

function nearest(name: string, names: readonly string[]): string {
  return `the nearest is '${closest(name.slice(0, 100), [...names])}'`;
}

/** Returns the value of a string option with the value's path, if any, relative to a folder. */
export function resolveText(text: string, meaning: TextMeaning, folder: string): string {
  switch (meaning) {
    case "plain":
      return text;
    case "file":
      return text === "-" ? text : resolve(folder, text);
    case "grant": {
      const [, name, paths] = /^(read|write)=(.*)$/s.exec(text) ?? [];
      if (name === undefined || paths === undefined) return text;
      return `${name}=${paths.split(",").map((path) => path && resolve(folder, path)).join(",")}`;
    }
    case "source": {
      const [, scheme, rest = ""] = /^([a-z][\w+-]*):(.*)$/is.exec(text) ?? [];
      if (scheme !== undefined) return scheme === "scripted" ? `scripted:${resolve(folder, rest)}` : text;
      return /[/\\]|\.(?:jsonc?|[mc]?[jt]s|py)(?:=[^=]*)?$/.test(text) ? resolve(folder, text) : text;
    }
  }
}
