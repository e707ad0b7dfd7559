import {
  bytesOf,
  type CommandContext,
  errorText,
  type GnuCommand,
  linesOf,
  pathOf,
  statusOf,
  textOf,
} from "../command.ts";
import { parseOptions } from "../options.ts";

const OPTIONS =
  "A,show-all:b,number-nonblank:e:E,show-ends:n,number:s,squeeze-blank:t:T,show-tabs:u:v,show-nonprinting";
const PRINTABLE = /^[\t\n\x20-\x7e]*$/;

interface Style {
  readonly numbers: "all" | "filled" | "none";
  readonly squeezes: boolean;
  readonly showsEnds: boolean;
  readonly showsTabs: boolean;
  readonly showsOthers: boolean;
}

/** `cat` of GNU coreutils 9.1. */
export const cat: GnuCommand = (args, context) => {
  const options = parseOptions(args, OPTIONS);
  const has = (names: string) => [...names].some((name) => options.has(name));
  const style: Style = {
    numbers: has("b") ? "filled" : has("n") ? "all" : "none",
    squeezes: has("s"),
    showsEnds: has("AeE"),
    showsTabs: has("AtT"),
    showsOthers: has("Aetv"),
  };
  const isPlain = style.numbers === "none" && !has("AeEstTv");
  const printer = new LinePrinter(style);
  let exitCode = 0;
  for (const name of options.operands.length > 0 ? options.operands : ["-"]) {
    context.poll();
    try {
      const text = read(name, context);
      context.print(isPlain ? text : printer.format(text));
    } catch (error) {
      context.warn(`${name || "''"}: ${errorText(error)}`);
      exitCode = 1;
    }
  }
  return exitCode;
};

/** `tee` of GNU coreutils 9.1. */
export const tee: GnuCommand = (args, context) => {
  const { has, operands } = parseOptions(args, "a,append:i,ignore-interrupts:p,output-error?");
  const { files, cwd, stdin, print } = context;
  let exitCode = 0;
  print(stdin);
  for (const name of operands) {
    const path = pathOf(cwd, name);
    try {
      const isStream = /^\/dev\/std|\/fd\/[012]$/.test(name);
      const before = has("a") && !isStream && statusOf(files, path) ? textOf(files.read(path)) : "";
      files.write(path, bytesOf(before + stdin));
    } catch (error) {
      context.warn(`${name || "''"}: ${errorText(error)}`);
      exitCode = 1;
    }
  }
  return exitCode;
};

function read(name: string, context: CommandContext): string {
  return name === "-" ? context.stdin : textOf(context.files.read(pathOf(context.cwd, name)));
}

/** Formats lines. A line may begin in a file and end in the next. */
class LinePrinter {
  readonly #style: Style;
  #number = 0;
  #blanks = 0;
  #isInLine = false;

  constructor(style: Style) {
    this.#style = style;
  }

  format(text: string): string {
    return linesOf(text).map((line) => this.#line(line)).join("");
  }

  #line(line: string): string {
    const { numbers, squeezes, showsEnds } = this.#style;
    const isComplete = line.endsWith("\n");
    const content = isComplete ? line.slice(0, -1) : line;
    const begins = !this.#isInLine;
    this.#isInLine = !isComplete;
    const isBlank = begins && content === "" && isComplete;
    this.#blanks = isBlank ? this.#blanks + 1 : 0;
    if (squeezes && this.#blanks > 1) return "";
    const isNumbered = begins && (numbers === "all" || numbers === "filled" && !isBlank);
    const number = isNumbered ? `${String(++this.#number).padStart(6)}\t` : "";
    return number + this.#visible(content, showsEnds && isComplete) +
      (isComplete ? `${showsEnds ? "$" : ""}\n` : "");
  }

  #visible(content: string, isEnded: boolean): string {
    const { showsTabs, showsOthers } = this.#style;
    if (PRINTABLE.test(content)) return showsTabs ? content.replaceAll("\t", "^I") : content;
    const text = showsOthers ? [...content].map(visibleByte).join("") : content;
    const ended = isEnded && !showsOthers ? text.replace(/\r$/, "^M") : text;
    return showsTabs ? ended.replaceAll("\t", "^I") : ended;
  }
}

/** Returns a byte as `cat -v` shows it. */
function visibleByte(byte: string): string {
  const code = byte.charCodeAt(0);
  if (code >= 128) {
    return `M-${
      code === 137 || code === 138 ? caret(code - 128) : visibleByte(String.fromCharCode(code - 128))
    }`;
  }
  return code === 9 ? byte : code < 32 || code === 127 ? caret(code) : byte;
}

function caret(code: number): string {
  return `^${String.fromCharCode(code ^ 64)}`;
}
