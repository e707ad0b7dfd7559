import { type Builtin, complained, joined, printed, type ShellState } from "./builtin.ts";

/** Options of `set` in the order in which bash lists them, with the values of a new shell that runs a script. */
const SET_OPTIONS: Readonly<Record<string, boolean>> = {
  allexport: false,
  braceexpand: true,
  emacs: false,
  errexit: false,
  errtrace: false,
  functrace: false,
  hashall: true,
  histexpand: false,
  history: false,
  ignoreeof: false,
  "interactive-comments": true,
  keyword: false,
  monitor: false,
  noclobber: false,
  noexec: false,
  noglob: false,
  nolog: false,
  notify: false,
  nounset: false,
  onecmd: false,
  physical: false,
  pipefail: false,
  posix: false,
  privileged: false,
  verbose: false,
  vi: false,
  xtrace: false,
};

/** Letters of options that the engine accepts and forgets. */
const LETTERS: Readonly<Record<string, string>> = {
  B: "braceexpand",
  E: "errtrace",
  H: "histexpand",
  P: "physical",
  T: "functrace",
  b: "notify",
  h: "hashall",
  m: "monitor",
  p: "privileged",
};

/** Options of `shopt` that are on in a new shell. */
const SHOPT_ON = new Set(
  ("checkwinsize cmdhist complete_fullquote extquote force_fignore globasciiranges globskipdots hostcomplete " +
    "interactive_comments patsub_replacement progcomp promptvars sourcepath").split(" "),
);
/** Options of `shopt` that only matter to a terminal, so that setting them has no effect. */
const SHOPT_TERMINAL = new Set(
  ("autocd cdspell checkhash checkjobs checkwinsize cmdhist complete_fullquote direxpand dirspell force_fignore " +
    "histappend histreedit histverify hostcomplete huponexit lithist mailwarn no_empty_cmd_completion progcomp " +
    "progcomp_alias promptvars").split(" "),
);
const SHOPT_OTHERS =
  ("assoc_expand_once cdable_vars compat31 compat32 compat40 compat41 compat42 compat43 compat44 " +
    "execfail extdebug extquote globasciiranges gnu_errfmt inherit_errexit interactive_comments localvar_inherit " +
    "localvar_unset login_shell noexpand_translation patsub_replacement restricted_shell shift_verbose sourcepath " +
    "varredir_close dotglob expand_aliases extglob failglob globskipdots globstar lastpipe nocaseglob nocasematch " +
    "nullglob xpg_echo").split(" ");
const SHOPT_OPTIONS = [
  "autocd",
  ...[...SHOPT_TERMINAL, ...SHOPT_OTHERS].toSorted().filter((name) => name !== "autocd"),
];

/** Returns the value of an option of `set`. */
export function isSet(state: ShellState, name: string): boolean {
  return state.options[name] ?? state.otherOptions?.get(name) ?? SET_OPTIONS[name] ?? false;
}

/** `set`. The engine keeps those options that it knows. */
export const set: Builtin = async ({ args, state, run }) => {
  const rest: string[] = [];
  const listed: string[] = [];
  let hasOurs = false;
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] ?? "";
    if (!/^[-+][a-zA-Z]+$/.test(word)) break;
    const [unknown] = /[^abefhkmnoptuvxBCEHPT]/.exec(word.slice(1)) ?? [];
    if (unknown !== undefined) {
      const usage = "set: usage: set [-abefhkmnptuvxBCEHPT] [-o option-name] [--] [-] [arg ...]";
      return complained(`set: ${word[0]}${unknown}: invalid option\n${usage}`, 2);
    }
    const next = args[at + 1];
    const isList = word.endsWith("o") && (next === undefined || /^[-+]/.test(next));
    if (isList) listed.push(word[0] === "-" ? listSetOptions(state) : commandsOfSetOptions(state));
    for (const letter of word.slice(1)) {
      const name = letter === "o" ? next : LETTERS[letter];
      if (name !== undefined) keepOption(state, name, word[0] === "-");
    }
    const named = word.includes("o") && !isList ? args[++at] ?? "" : undefined;
    if (named !== undefined && !(named in SET_OPTIONS)) {
      return complained(`set: ${named}: invalid option name`, 2);
    }
    const isOurs = named !== undefined && !(named in state.options);
    hasOurs ||= isOurs;
    const kept = isList || isOurs ? word.replace("o", "") : word;
    if (kept.length > 1) rest.push(kept);
    if (named !== undefined && !isOurs) rest.push(named);
  }
  if (listed.length === 0 && !hasOurs) return undefined;
  const words = [...rest, ...args.slice(at)];
  const result = words.length === 0 ? printed("") : await run("set", words);
  return joined([printed(listed.join("")), result]);
};

function keepOption(state: ShellState, name: string, value: boolean): void {
  if (!(name in SET_OPTIONS) || name in state.options) return;
  state.otherOptions = new Map([...state.otherOptions ?? [], [name, value]]);
}

function listSetOptions(state: ShellState): string {
  return Object.keys(SET_OPTIONS).map((name) => optionLine(name, isSet(state, name))).join("");
}

function commandsOfSetOptions(state: ShellState): string {
  return Object.keys(SET_OPTIONS).map((name) => `set ${isSet(state, name) ? "-" : "+"}o ${name}\n`).join("");
}

function optionLine(name: string, value: boolean): string {
  return `${name.padEnd(15)}\t${value ? "on" : "off"}\n`;
}

/** `shopt`. The engine keeps those options that it knows. */
export const shopt: Builtin = async ({ args, state, run }) => {
  const flags = args.filter((word) => /^-[a-z]+$/.test(word)).join("").replaceAll("-", "");
  const names = args.filter((word) => !/^-[a-z]+$/.test(word) && word !== "--");
  const [isEnabling, isDisabling] = [flags.includes("s"), flags.includes("u")];
  if (/[^supqo]/.test(flags) || (isEnabling && isDisabling)) return undefined;
  const ofSet = flags.includes("o");
  const known = ofSet ? Object.keys(SET_OPTIONS) : SHOPT_OPTIONS;
  const valueOf = (name: string) => ofSet ? isSet(state, name) : shoptValue(state, name);
  if (names.length > 0 && (isEnabling || isDisabling)) {
    const results = [];
    for (const name of names) {
      const isKnown = known.includes(name);
      if (ofSet && isKnown) results.push(await run("set", [isEnabling ? "-o" : "+o", name]));
      else if (name in state.shoptOptions) results.push(await run("shopt", [isEnabling ? "-s" : "-u", name]));
      else if (!isKnown) {
        results.push(complained(`shopt: ${name}: invalid ${ofSet ? "" : "shell "}option name`));
      } else results.push(setOther(state, name, isEnabling));
      if (ofSet && isKnown) keepOption(state, name, isEnabling);
    }
    return joined(results);
  }
  const listed = names.length > 0 ? names : known.filter((name) => {
    return isEnabling ? valueOf(name) : isDisabling ? !valueOf(name) : true;
  });
  const results = listed.map((name) => {
    if (!known.includes(name)) {
      return complained(`shopt: ${name}: invalid ${ofSet ? "" : "shell "}option name`);
    }
    const value = valueOf(name);
    const command = ofSet ? `set ${value ? "-" : "+"}o ${name}\n` : `shopt ${value ? "-s" : "-u"} ${name}\n`;
    const text = flags.includes("q") ? "" : flags.includes("p") ? command : optionLine(name, value);
    return printed(text, value || names.length === 0 ? 0 : 1);
  });
  return joined(results);
};

function shoptValue(state: ShellState, name: string): boolean {
  return state.shoptOptions[name] ?? state.otherOptions?.get(name) ?? SHOPT_ON.has(name);
}

/** Options that this shell has, beside the engine's. */
const SHOPT_OWN = new Set(["cdable_vars", "inherit_errexit", "shift_verbose"]);

/** Sets an option that the engine does not know, if the shell has it or it makes no difference. */
function setOther(state: ShellState, name: string, value: boolean) {
  if (value !== SHOPT_ON.has(name) && !SHOPT_TERMINAL.has(name) && !SHOPT_OWN.has(name)) {
    return complained(`shopt: ${name}: is not available in the sandbox`);
  }
  state.otherOptions = new Map([...state.otherOptions ?? [], [name, value]]);
  return printed("");
}
