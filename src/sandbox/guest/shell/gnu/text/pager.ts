import {
  type CommandContext,
  errorText,
  type GnuCommand,
  pathOf,
  statusOf,
  textOf,
  UsageError,
} from "../command.ts";

/** Options of `less` with a value, which may be the next word. */
const LESS_VALUES = /^-[bhjkoOpPtTxyz#]$/;
const LESS_OPTION = /^(?:-[-\w"~?|#]|\+).*$/;
const MORE_OPTION = /^(?:-[cdeflpsuVh\d]|--\w|\+)/;
const MORE_VALUES = /^-n$/;

/** `less` 590, whose output is not a terminal: it prints its files, and its options change nothing. */
export const less: GnuCommand = (args, context) => {
  if (args.includes("--version") || args.includes("-V")) {
    context.print("less 590 (GNU regular expressions)\n");
    return 0;
  }
  const names = readNames(args, LESS_OPTION, LESS_VALUES);
  if (names.length === 0 && context.stdin === "") {
    throw new UsageError('Missing filename ("less --help" for help)', { hasHint: false });
  }
  for (const name of names.length > 0 ? names : ["-"]) {
    printFile(name, context, {
      onFolder: () => context.print(`${name} is a directory\n`),
      onError: (message) => context.print(`${name}: ${message}\n`),
    });
  }
  return 0;
};

/** `more` of util-linux 2.38, whose output is not a terminal: it prints its files, each below its name. */
export const more: GnuCommand = (args, context) => {
  const names = readNames(args, MORE_OPTION, MORE_VALUES);
  const unknown = names.find((name) => /^-./.test(name));
  if (unknown !== undefined) throw new UsageError(`invalid option -- '${unknown.charAt(1)}'`);
  if (names.length === 0) context.print(context.stdin);
  for (const name of names) {
    printFile(name, context, {
      head: `::::::::::::::\n${name}\n::::::::::::::\n`,
      onFolder: () => context.print(`\n*** ${name}: directory ***\n\n`),
      onError: (message) => context.warn(`cannot open ${name}: ${message}`),
    });
  }
  return 0;
};

/** Returns the words that are no options. */
function readNames(args: readonly string[], option: RegExp, values: RegExp): string[] {
  const names: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--") return [...names, ...args.slice(at + 1)];
    if (values.test(word)) at++;
    else if (!option.test(word)) names.push(word);
  }
  return names;
}

interface PrintSettings {
  readonly head?: string;
  readonly onFolder: () => void;
  readonly onError: (message: string) => void;
}

function printFile(
  name: string,
  { files, cwd, stdin, print }: CommandContext,
  { head = "", onFolder, onError }: PrintSettings,
): void {
  if (name === "-") return print(stdin);
  const path = pathOf(cwd, name);
  if (statusOf(files, path)?.kind === "directory") return onFolder();
  let text: string;
  try {
    text = textOf(files.read(path));
  } catch (error) {
    return onError(errorText(error));
  }
  print(head + text);
}
