import { type Command, Option } from "commander";
import { collectValues, nameOption, type NumberParser } from "./options.ts";

/**
 * An option of a command. The name is the key of the table, in the words of the code: `maxTurns` is `--max-turns`.
 * Help, completion, the configuration file and the schema follow from the rows.
 */
export interface OptionRow {
  /** Heading of the help above the option, such as `Policy`. */
  readonly group: string;
  /** Description for the help. If `names` are given, the help lists them after the description. */
  readonly about: string;
  /** Placeholder of the value. An option without a value is a switch. */
  readonly value?: string;
  /** Parser of a value that is a number. */
  readonly number?: NumberParser;
  /** Names that the value has, or begins with. */
  readonly names?: readonly string[];
  /** All values that are allowed. */
  readonly choices?: readonly string[];
  /** True if the option may be repeated; the value is then a list. */
  readonly repeats?: boolean;
  readonly default?: string | number | undefined;
  /** Names of the options that cannot be used with this option. */
  readonly conflicts?: readonly string[];
  /** Makes an option that several commands have. The other fields of the row then only describe the option. */
  readonly make?: () => Option;
}

/** Options of a command by name, in the order of the help. */
export type OptionTable<Row extends OptionRow = OptionRow> = Readonly<Record<string, Row>>;

/** Adds the options of a table to a command. */
export function addOptions(command: Command, table: OptionTable): Command {
  let group: string | undefined;
  for (const [name, row] of Object.entries(table)) {
    if (row.group !== group) command.optionsGroup(`${row.group}:`);
    group = row.group;
    command.addOption(row.make?.() ?? toOption(name, row));
  }
  return command;
}

/** Returns the option of the command line for a name of the code: `--max-turns` for `maxTurns`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function toOption(name: string, row: OptionRow): Option {
  const { about, value, names, choices, number, repeats, conflicts = [] } = row;
  const flags = value === undefined ? flagOf(name) : `${flagOf(name)} <${value}>`;
  const option = names === undefined ? new Option(flags, about) : nameOption(flags, about, names);
  if (choices !== undefined) option.choices([...choices]);
  if (number !== undefined) option.argParser(number);
  if (repeats) option.argParser(collectValues);
  if (row.default !== undefined) option.default(row.default);
  return option.conflicts([...conflicts]);
}

/** Returns the arguments of the command line from the name of the command on. */
export function argumentsOf(command: Command): string[] {
  let root = command;
  while (root.parent !== null) root = root.parent;
  const { rawArgs = [] } = root as Command & { rawArgs?: string[] }; // commander's types lack this field
  return rawArgs.slice(Math.max(0, rawArgs.indexOf(command.name())));
}
