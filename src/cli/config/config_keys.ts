import type { Command, Option } from "commander";
import { collectValues, type NumberParser, type NumberRange } from "../options.ts";

/** Type of a key's value. */
export type ConfigType =
  | { readonly kind: "boolean" }
  | { readonly kind: "number"; readonly range: NumberRange }
  | { readonly kind: "choice"; readonly names: readonly string[] }
  | { readonly kind: "string" };

/** Meaning of a string: `file` is always a path, `source` is a name, a URL or a path, `grant` is a permission. */
export type TextMeaning = "plain" | "file" | "source" | "grant";

/** A key of a section of the configuration file: an option of the command, named as in code (`maxTurns`). */
export interface ConfigKey {
  readonly name: string;
  readonly option: Option;
  /** Command that has the option: the section's command, or `paddock` for a global option. */
  readonly owner: Command;
  readonly type: ConfigType;
  readonly meaning: TextMeaning;
  /** True if the value may also be a list of values. */
  readonly isList: boolean;
  /** Names of the keys that cannot be used with this key. */
  readonly conflicts: readonly string[];
}

/** Options that are for the command line only. */
const EXCLUDED: readonly string[] = ["config", "version", "help"];
/** Options whose value is a name, a URL or a path. */
const SOURCES: readonly string[] = ["env", "profile", "pythonProfile", "policy", "grader", "judge", "user"];

/** Returns the keys of a command's section by name: all options of the command and the global options. */
export function configKeys(command: Command): Map<string, ConfigKey> {
  const owners = command.parent === null ? [command] : [command, command.parent];
  const keys = owners.flatMap((owner) => owner.options.map((option) => keyOf(option, owner)));
  return new Map(keys.filter(({ name }) => !EXCLUDED.includes(name)).map((key) => [key.name, key]));
}

function keyOf(option: Option, owner: Command): ConfigKey {
  const name = nameOf(option);
  const isList = option.variadic || option.parseArg === collectValues;
  const { conflictsWith } = option as Option & { conflictsWith: string[] }; // commander's types lack this field
  const conflicts = option.negate ? [...conflictsWith, option.attributeName()] : conflictsWith;
  return { name, option, owner, type: typeOf(option), meaning: meaningOf(option), isList, conflicts };
}

/** Returns the name of an option. `--no-system` is `noSystem` beside `--system TEXT`, which is `system`. */
function nameOf(option: Option): string {
  if (!option.negate) return option.attributeName();
  return (option.long ?? "").slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function typeOf(option: Option): ConfigType {
  if (option.isBoolean() || option.negate) return { kind: "boolean" };
  if (option.argChoices !== undefined) return { kind: "choice", names: option.argChoices };
  const { range } = option.parseArg as Partial<NumberParser> | undefined ?? {};
  return range === undefined ? { kind: "string" } : { kind: "number", range };
}

function meaningOf(option: Option): TextMeaning {
  if (/<(?:file|dir|path)(?:\.\.\.)?>$/.test(option.flags)) return "file";
  if (/<permission(?:\.\.\.)?>$/.test(option.flags)) return "grant";
  return SOURCES.includes(option.attributeName()) ? "source" : "plain";
}
