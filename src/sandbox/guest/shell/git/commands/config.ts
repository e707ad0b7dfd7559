import { byteText, pathIn, unicodeText } from "../../gnu/command.ts";
import { compileExpression } from "../../gnu/regular_expression.ts";
import type { FreeCommand } from "../git_command.ts";
import { ConfigFile, normalKey, readBoolean, type Setting } from "../store/config_file.ts";
import { fatal, GitError } from "../store/git_error.ts";
import { Config, findRepository } from "../store/repository.ts";
import { commandOptions, usage } from "./command_words.ts";

const NOT_FOUND = 1;
const INVALID_KEY = 1;
const NOT_THERE = 5;

/** `git config`. */
export const config: FreeCommand = (args, context, options) => {
  const given = commandOptions(
    args,
    "global:system:local:worktree:f,file=:blob=:l,list:get:get-all:get-regexp:add:unset:unset-all:replace-all:" +
      "remove-section:rename-section:e,edit:get-urlmatch:get-color:get-colorbool:z,null:name-only:show-origin:" +
      "show-scope:type=:bool:int:path:bool-or-int:no-type:default=:includes:no-includes:fixed-value",
    {
      refused: [
        "worktree",
        "blob",
        "rename-section",
        "e",
        "get-urlmatch",
        "get-color",
        "get-colorbool",
        "show-origin",
      ],
    },
  );
  const { print, cwd } = context;
  const repository = findRepository(context, options);
  const all = repository?.config ?? new Config(context, { given: options.settings, gitFolder: undefined });
  const file = given.value("f");
  const chosen = file !== undefined
    ? new ConfigFile(context.files, pathIn(cwd, file))
    : given.has("global")
    ? all.global
    : given.has("system")
    ? all.system
    : given.has("local")
    ? all.local ?? fatal("--local can only be used inside a git repository")
    : undefined;
  const settings = (): readonly Setting[] => {
    if (!chosen) return all.settings();
    if (!chosen.exists && (file !== undefined || given.has("global"))) {
      if (given.has("l")) {
        fatal(
          `unable to read config file '${unicodeText(byteText(chosen.path))}': No such file or directory`,
        );
      }
    }
    return chosen.settings();
  };
  const end = given.has("z") ? "\0" : "\n";
  const separator = given.has("z") ? "\n" : "=";
  const [name, value, pattern] = [...given.operands, ...given.paths ?? []];
  if (given.has("l")) {
    for (const { key, value: text } of settings()) {
      print(given.has("name-only") ? key + end : `${key}${text === undefined ? "" : separator + text}${end}`);
    }
    return 0;
  }
  if (name === undefined) usage("git config [<options>]");
  if (given.has("get-regexp")) return printMatches(name);
  const target = chosen ?? all.local;
  if (given.has("remove-section")) {
    const section = name.toLowerCase();
    if (writable().removeSection(section)) return 0;
    throw new GitError(`no such section: ${name}`, { exitCode: 128 });
  }
  const key = normalKey(name);
  if (key === undefined) {
    const text = name.includes(".") ? `invalid key: ${name}` : `key does not contain a section: ${name}`;
    throw new GitError(text, { kind: "error", exitCode: name.includes(".") ? INVALID_KEY : 2 - INVALID_KEY });
  }
  if (given.has("unset") || given.has("unset-all")) {
    const count = writable().settings().filter((setting) => setting.key === key).length;
    if (count > 1 && given.has("unset")) {
      context.printError(`warning: ${name} has multiple values\n`);
      return NOT_THERE;
    }
    return writable().remove(key) === 0 ? NOT_THERE : 0;
  }
  if (value === undefined || given.has("get") || given.has("get-all")) return printValues(key);
  if (pattern !== undefined) fatal("a pattern of values is not available in the sandbox");
  const text = typed(value);
  if (given.has("add")) writable().add(key, text);
  else {
    const count = writable().settings().filter((setting) => setting.key === key).length;
    if (count > 1 && !given.has("replace-all")) {
      context.printError(
        `warning: ${name} has multiple values\nerror: cannot overwrite multiple values with a single value\n` +
          `       Use a regexp, --add or --replace-all to change ${name}.\n`,
      );
      return NOT_THERE;
    }
    if (count > 1) writable().remove(key);
    writable().set(key, text);
  }
  return 0;

  function writable(): ConfigFile {
    return target ?? fatal("not in a git directory");
  }

  function typed(text: string | undefined): string {
    const kind = given.value("type") ??
      ["bool", "int", "path", "bool-or-int"].find((type) => given.has(type));
    if (kind === undefined || kind === "path") {
      return kind === "path"
        ? (text ?? "").replace(/^~(?=\/|$)/, context.variables["HOME"] ?? "")
        : text ?? "";
    }
    if (kind === "bool" || (kind === "bool-or-int" && !/^-?\d+$/.test(text ?? ""))) {
      return String(readBoolean(text) ?? fatal(`bad boolean config value '${text}' for '${name}'`));
    }
    const [, digits, unit = ""] = /^(-?\d+)([kKmMgG]?)$/.exec(text ?? "") ?? [];
    if (digits === undefined) fatal(`bad numeric config value '${text}' for '${name}': invalid unit`);
    return String(Number(digits) * 1024 ** " kmg".indexOf(unit.toLowerCase() || " "));
  }

  function printValues(wanted: string): number {
    const found = settings().filter((setting) => setting.key === wanted);
    if (found.length === 0) {
      const fallback = given.value("default");
      if (fallback === undefined) return NOT_FOUND;
      print(typed(fallback) + end);
      return 0;
    }
    for (const setting of given.has("get-all") ? found : found.slice(-1)) print(typed(setting.value) + end);
    return 0;
  }

  function printMatches(source: string): number {
    const pattern = compileExpression(unicodeText(source), "extended");
    const found = settings().filter((setting) => setting.key.search(pattern) >= 0);
    for (const setting of found) {
      const text = setting.value === undefined ? "" : ` ${setting.value}`;
      print(given.has("name-only") ? setting.key + end : setting.key + text + end);
    }
    return found.length > 0 ? 0 : NOT_FOUND;
  }
};
