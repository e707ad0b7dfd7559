import { type GnuCommand, pathOf, statusOf, unicodeText, UsageError } from "./command.ts";
import { parseOptions } from "./options.ts";

const FAILED = 125;
const OPTIONS = "i,ignore-environment:0,null:u,unset=:C,chdir=:S,split-string=:v,debug:block-signal?:" +
  "default-signal?:ignore-signal?:list-signal-handling";

function fail(message: string, hasHint = false): never {
  throw new UsageError(message, { exitCode: FAILED, hasHint });
}

/** `env` of GNU coreutils 9.1. */
export const env: GnuCommand = async (args, context) => {
  const split = splitArguments(args, context.variables);
  const options = parseOptions(split, OPTIONS, { exitCode: FAILED, stopsAtOperand: true });
  const words = [...options.operands];
  const isBare = words[0] === "-";
  if (isBare) words.shift();
  const variables = new Map(
    options.has("i") || isBare
      ? []
      : Object.entries(context.variables).map(([name, value]) => [name, encoded(value)] as const),
  );
  for (const name of options.values("u")) {
    if (name === "" || name.includes("=")) fail(`cannot unset '${unicodeText(name)}': Invalid argument`);
    variables.delete(name);
  }
  while (words[0]?.includes("=")) {
    const word = words.shift() ?? "";
    const at = word.indexOf("=");
    if (at === 0) fail(`cannot set '': Invalid argument`);
    variables.set(word.slice(0, at), word.slice(at + 1));
  }
  const folder = options.value("C");
  const [command] = words;
  if (command === undefined) {
    if (folder !== undefined) fail("must specify command with --chdir (-C)", true);
    const end = options.has("0") ? "\0" : "\n";
    for (const [name, value] of variables) context.print(`${name}=${value}${end}`);
    return 0;
  }
  if (options.has("0")) fail("cannot specify --null (-0) with command", true);
  const cwd = folder === undefined ? context.cwd : pathOf(context.cwd, folder);
  if (statusOf(context.files, cwd)?.kind !== "directory") {
    fail(`cannot change directory to '${unicodeText(folder ?? "")}': No such file or directory`);
  }
  const decoded = Object.fromEntries([...variables].map(([name, value]) => [name, unicodeText(value)]));
  // The engine's shell adds variables of its own, which must not show.
  if (command === "env") return await env(words.slice(1), { ...context, cwd, variables: decoded });
  const found = await context.run(words, { cwd, stdin: context.stdin, variables: decoded });
  return found.exitCode;
};

function encoded(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/** Splits the text of `-S` into words, as a line of a script's `#!` needs. */
function splitArguments(args: readonly string[], variables: Readonly<Record<string, string>>): string[] {
  const [first = "", second] = args;
  const [, flags = "", joined] = /^-([i0v]*)S([^]*)$/.exec(first) ?? [];
  const long = /^--split-string=([^]*)$/.exec(first)?.[1];
  const isSeparate = joined === "" || first === "--split-string";
  const text = isSeparate ? second : joined ?? long;
  if (text === undefined) return [...args];
  const rest = args.slice(isSeparate ? 2 : 1);
  return [...flags === "" ? [] : [`-${flags}`], ...splitWords(text, variables), ...rest];
}

const ESCAPES: Readonly<Record<string, string>> = { f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", _: " " };

function splitWords(text: string, variables: Readonly<Record<string, string>>): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at);
    if (sign === "\\" && !(quote === "'" && !/[\\']/.test(text.charAt(at + 1)))) {
      const next = text.charAt(++at);
      if (next === "c") break;
      if (next === "_" && quote === "") {
        if (word !== undefined) words.push(word);
        word = undefined;
      } else word = (word ?? "") + (ESCAPES[next] ?? next);
    } else if (sign === "$" && quote !== "'") {
      const [whole, name] = /^\$\{([A-Za-z_]\w*)\}/.exec(text.slice(at)) ?? [];
      if (whole === undefined || name === undefined) {
        fail("only ${VARNAME} expansion is supported, error at: " + text.slice(at));
      }
      word = (word ?? "") + encoded(variables[name] ?? "");
      at += whole.length - 1;
    } else if (sign === quote) quote = "";
    else if (quote === "" && (sign === "'" || sign === '"')) {
      quote = sign;
      word ??= "";
    } else if (quote === "" && /[ \t\n\v\f\r]/.test(sign)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (quote === "" && sign === "#" && word === undefined) break;
    else word = (word ?? "") + sign;
  }
  if (quote !== "") fail("no terminating quote in -S string");
  if (word !== undefined) words.push(word);
  return words;
}
