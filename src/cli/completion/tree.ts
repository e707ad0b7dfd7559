import type { Command, Option } from "commander";
import { valueNames } from "../options.ts";

/** Completions of a value: names, files, folders, or the names and files of profiles. */
export interface Values {
  readonly kind: "file" | "folder" | "profile" | "none";
  readonly names: readonly string[];
}

/** An option or a subcommand, with the text that shells show beside the name. */
export interface Completion {
  readonly word: string;
  readonly about: string;
}

/** Completions after the words of a command. */
export interface CommandWords {
  /** Words of the command, such as `packages add`; empty for `paddock` itself. */
  readonly path: string;
  readonly options: readonly Completion[];
  readonly subcommands: readonly Completion[];
  /** Values of each option that takes a value, by each name of the option. */
  readonly valuesOf: ReadonlyMap<string, Values>;
  /** Values of the arguments. */
  readonly argument: Values;
}

/** Returns the words of a command and of the subcommands, in the order of the help. */
export function commandWords(root: Command): CommandWords[] {
  return [...walk(root, "", root.options)];
}

function* walk(command: Command, path: string, shared: readonly Option[]): Generator<CommandWords> {
  const visible = command.createHelp().visibleOptions(command);
  const options = [...new Set([...visible, ...shared])].filter(({ hidden }) => !hidden);
  const names = options.flatMap((option) => namesOf(option).map((name) => ({ name, option })));
  const [argument] = command.registeredArguments;
  yield {
    path,
    options: names.map(({ name, option }) => ({ word: name, about: shorten(option.description) })),
    subcommands: command.commands.map((child) => ({
      word: child.name(),
      about: shorten(child.description()),
    })),
    valuesOf: new Map(
      names.filter(({ option }) => option.required || option.optional)
        .map(({ name, option }) => [name, valuesOfOption(option)]),
    ),
    argument: argument === undefined
      ? { kind: "none", names: [] }
      : { kind: kindOf(argument.name()), names: argument.argChoices ?? [] },
  };
  for (const child of command.commands) yield* walk(child, `${path} ${child.name()}`.trim(), shared);
}

function namesOf({ long, short }: Option): string[] {
  return [long, short].filter((name) => typeof name === "string");
}

function valuesOfOption(option: Option): Values {
  const names = valueNames(option);
  if (option.long === "--profile") return { kind: "profile", names };
  const [, placeholder = ""] = /[<[]([^>\].]*)/.exec(option.flags) ?? [];
  return { kind: kindOf(placeholder), names };
}

function kindOf(placeholder: string): Values["kind"] {
  if (placeholder === "dir") return "folder";
  return ["file", "path", "args"].includes(placeholder) ? "file" : "none";
}

const MAX_ABOUT = 60;

/** Returns the first words of a help text, in characters that all shells take as they are. */
function shorten(text: string): string {
  const plain = text.replace(/[^\x20-\x7e]/g, "").replace(/[\\'"`$:[\]!]/g, " ").replace(/ +/g, " ");
  return plain.length <= MAX_ABOUT ? plain : plain.slice(0, MAX_ABOUT).replace(/\S*$/, "").trimEnd();
}
