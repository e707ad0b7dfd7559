import type { CommandContext } from "../../gnu/command.ts";
import type { ParsedOptions } from "../../gnu/options.ts";
import { fatal, refuse } from "../store/git_error.ts";
import type { Repository } from "../store/repository.ts";
import { attributesOf } from "../worktree/line_ends.ts";
import { type FilePair, pathOfPair, reversePair } from "./file_pairs.ts";
import { type PatchStyle, patchText } from "./patch_output.ts";
import { findRenames } from "./renames.ts";
import { nameText, numStatText, shortStatText, statText, summaryText } from "./stat_output.ts";

/** Options that all commands with a diff have, in the form of `parseOptions`. */
export const DIFF_OPTIONS =
  "p,u,patch:s,no-patch:stat?:stat-width=:stat-count=:numstat:shortstat:summary:compact-summary:patch-with-stat:" +
  "name-only:name-status:raw:U,unified=:w,ignore-all-space:b,ignore-space-change:ignore-space-at-eol:" +
  "ignore-cr-at-eol:ignore-blank-lines:a,text:binary:full-index:abbrev?:no-abbrev:no-renames:M,find-renames?:" +
  "C,find-copies?:find-copies-harder:D,irreversible-delete:R:exit-code:color?:no-color:no-prefix:src-prefix=:" +
  "dst-prefix=:default-prefix:no-ext-diff:ext-diff:no-textconv:textconv:minimal:patience:histogram:diff-algorithm=:" +
  "diff-filter=:z:relative?:no-relative:W,function-context:inter-hunk-context=:word-diff?:color-words?:check:" +
  "dirstat?:S=:G=:pickaxe-regex:pickaxe-all:indent-heuristic:no-indent-heuristic:submodule?:ignore-submodules?:" +
  "color-moved?:ws-error-highlight=:output=:cc:c:m:no-rename-empty:O=:";

const REFUSED = [
  ...["raw", "patience", "histogram", "find-copies-harder", "D", "relative", "W", "word-diff", "color-words"],
  ...[
    "check",
    "dirstat",
    "G",
    "pickaxe-regex",
    "color-moved",
    "no-indent-heuristic",
    "output",
    "m",
    "stat-count",
  ],
  ...["compact-summary", "ext-diff", "O", "minimal", "ignore-cr-at-eol", "pickaxe-all"],
];

/** Forms of a diff. */
type Form = "patch" | "stat" | "numstat" | "shortstat" | "summary" | "names" | "status";

/** How a command shows what differs. */
export interface DiffSettings {
  /** Empty if the command's own form is wanted. */
  readonly forms: ReadonlySet<Form>;
  /** True if nothing is to be shown. */
  readonly isSilent: boolean;
  readonly style: PatchStyle;
  readonly statWidth: number;
  readonly statNameWidth: number | undefined;
  /** Least similarity of renamed files, absent if they are not looked for. */
  readonly minRename: number | undefined;
  readonly findsCopies: boolean;
  readonly isReversed: boolean;
  readonly letters: string | undefined;
  readonly isNull: boolean;
  /** Text whose number of occurrences must differ. */
  readonly searched: string | undefined;
  readonly digits: number;
}

/** Reads the options of a diff, with the settings of a repository. */
export function readDiffSettings(
  options: ParsedOptions,
  { config, context }: Pick<Repository, "config" | "context">,
  { digits }: { digits: number },
): DiffSettings {
  const refused = REFUSED.find((name) => options.has(name));
  if (refused !== undefined) refuse(`the option ${refused.length === 1 ? `-${refused}` : `--${refused}`}`);
  refuseColor(options, config.get("color.diff") ?? config.get("color.ui"));
  const algorithm = options.value("diff-algorithm") ?? config.get("diff.algorithm") ?? "myers";
  if (!["myers", "default"].includes(algorithm)) refuse(`the diff algorithm '${algorithm}'`);
  const forms = new Set<Form>();
  for (const { name } of options.given) {
    if (["p", "U", "binary"].includes(name)) forms.add("patch");
    if (name === "patch-with-stat") forms.add("patch").add("stat");
    if (name === "stat" || name === "stat-width") forms.add("stat");
    if (name === "numstat" || name === "shortstat" || name === "summary") forms.add(name);
    if (name === "name-only") forms.add("names");
    if (name === "name-status") forms.add("status");
  }
  const [width, nameWidth] = (options.value("stat") ?? "").split(",");
  const renames = config.get("diff.renames");
  const isFinding = !options.has("no-renames") && !/^(?:false|no|0|off)$/.test(renames ?? "true");
  const given = options.given.findLast(({ name }) => name === "M" || name === "no-renames" || name === "C");
  const isWanted = given ? given.name !== "no-renames" : isFinding;
  const lines = readNumber(options.value("U") ?? config.get("diff.context"));
  const abbrev = options.value("abbrev");
  return {
    forms,
    isSilent:
      options.given.findLast(({ name }) => ["s", "p", "stat", "name-only"].includes(name))?.name === "s",
    style: {
      ...(lines !== undefined && { context: lines }),
      ...(options.has("inter-hunk-context") && { interHunk: Number(options.value("inter-hunk-context")) }),
      ...whitespaceOf(options),
      ignoresBlankLines: options.has("ignore-blank-lines"),
      isText: options.has("a"),
      isBinaryShown: options.has("binary"),
      isFullIndex: options.has("full-index"),
      keepsBytes: config.has("core.quotepath") && !config.flag("core.quotepath", true),
      prefixes: prefixesOf(options, config.flag("diff.noprefix", false)),
    },
    statWidth: width ? Number(width) : Number(options.value("stat-width") ?? columnsOf(context)),
    statNameWidth: nameWidth ? Number(nameWidth) : undefined,
    minRename: isWanted ? percentOf(options.value("M") ?? options.value("C") ?? "") : undefined,
    findsCopies: options.has("C") || renames === "copies" || renames === "copy",
    isReversed: options.has("R"),
    letters: options.value("diff-filter"),
    isNull: options.has("z"),
    searched: options.value("S"),
    digits: abbrev ? Number(abbrev) : options.has("no-abbrev") ? 40 : digits,
  };
}

function readNumber(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return /^\d+$/.test(text) ? Number(text) : fatal(`'${text}' is not a number of lines`);
}

function whitespaceOf(options: ParsedOptions): Pick<PatchStyle, "whitespace"> {
  if (options.has("w")) return { whitespace: "all" };
  if (options.has("b")) return { whitespace: "amount" };
  return options.has("ignore-space-at-eol") ? { whitespace: "end" } : {};
}

function prefixesOf(options: ParsedOptions, isBare: boolean): readonly [string, string] {
  if (options.has("no-prefix") || (isBare && !options.has("default-prefix"))) return ["", ""];
  const [from, to] = [options.value("src-prefix") ?? "a/", options.value("dst-prefix") ?? "b/"];
  return options.has("R") ? [to, from] : [from, to];
}

function percentOf(text: string): number {
  if (text === "") return 50;
  if (text.endsWith("%")) return Number(text.slice(0, -1));
  return Number(`0.${text}`) * 100;
}

/** Width of the output: the variable `COLUMNS`, or 80. */
export function columnsOf({ variables }: Pick<CommandContext, "variables">): number {
  return Number(variables["COLUMNS"]) || 80;
}

/** Refuses colours, which the output never has. */
export function refuseColor(options: ParsedOptions, setting: string | undefined): void {
  const given = options.given.findLast(({ name }) => name === "color" || name === "no-color");
  const value = given ? given.name === "no-color" ? "never" : given.value || "always" : setting;
  if (value === "always") refuse("colour");
}

/** Returns pairs as the settings of a diff want them: with renames, reversed, and only some of them. */
export function choosePairs(
  pairs: readonly FilePair[],
  settings: DiffSettings,
  { poll }: Pick<CommandContext, "poll">,
): FilePair[] {
  const { minRename, findsCopies, isReversed, letters, searched } = settings;
  let chosen = minRename === undefined
    ? [...pairs]
    : findRenames(pairs, { minPercent: minRename, poll, findsCopies });
  if (isReversed) chosen = chosen.map(reversePair);
  if (letters !== undefined) {
    const wanted = letters.replace(/[a-z]/g, "");
    chosen = chosen.filter(({ letter }) =>
      (wanted === "" || wanted.includes(letter)) && !letters.includes(letter.toLowerCase())
    );
  }
  if (searched !== undefined) {
    const count = (text: string | undefined) => text?.split(searched).length ?? 1;
    chosen = chosen.filter(({ from, to }) => count(from?.read()) !== count(to?.read()));
  }
  return chosen;
}

/** Returns a diff in the forms that the settings name, or else in the command's own form. */
export function diffText(
  pairs: readonly FilePair[],
  settings: DiffSettings,
  { context, repository, form }: {
    context: Pick<CommandContext, "poll">;
    /** Absent for files outside of a repository. */
    repository?: Repository;
    form?: Form;
  },
): string {
  const { style, isNull, statWidth, statNameWidth, digits } = settings;
  const forms = settings.forms.size > 0 || form === undefined ? settings.forms : new Set([form]);
  const keepsBytes = style.keepsBytes === true;
  const end = isNull ? "\0" : "\n";
  if (forms.has("names")) return nameText(pairs, { isStatus: false, end, keepsBytes });
  if (forms.has("status")) return nameText(pairs, { isStatus: true, end, keepsBytes });
  let text = "";
  const styleOf = (pair: FilePair) => repository ? withAttributes(repository, pair, style) : style;
  if (forms.has("numstat")) text += numStatText(pairs, styleOf);
  if (forms.has("stat")) {
    const widths = { width: statWidth, ...(statNameWidth !== undefined && { nameWidth: statNameWidth }) };
    text += statText(pairs, styleOf, widths);
  } else if (forms.has("shortstat")) text += shortStatText(pairs, styleOf);
  if (forms.has("summary")) text += summaryText(pairs, style);
  if (!forms.has("patch")) return text;
  const abbreviate = (id: string) => repository?.objects.abbreviate(id, digits) ?? id.slice(0, digits);
  const patches = pairs.map((pair) => {
    context.poll();
    return patchText(pair, styleOf(pair), abbreviate);
  }).join("");
  return text === "" || patches === "" ? text + patches : `${text}\n${patches}`;
}

/** Returns the style for a file whose attributes say that it is text or not. */
function withAttributes(repository: Repository, pair: FilePair, style: PatchStyle): PatchStyle {
  const value = attributesOf(repository, pathOfPair(pair)).get("diff");
  if (value === true) return { ...style, isText: true };
  return value === false ? { ...style, isOpaque: true } : style;
}
