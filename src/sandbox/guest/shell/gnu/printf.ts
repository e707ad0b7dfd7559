import { byteText, C_ESCAPES, type CommandContext, unicodeText } from "./command.ts";
import { formatDate } from "./date.ts";
import { zoneOf } from "./time_zone.ts";

const CONVERSION =
  /^%([-+ #0]*)(\*|-?\d+)?(?:\.(\*|-?\d*))?(?:[hlLjzt]+)?(\([^)]*\)T|[diouxXsbqQcfFeEgGaA%])/;
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;
const MAX_WIDTH = 1_000_000;
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  ...C_ESCAPES,
  e: "\x1b",
  E: "\x1b",
  "'": "'",
  '"': '"',
  "?": "?",
};

/** What `printf` prints, and its exit code. */
export interface PrintfResult {
  readonly text: string;
  readonly errors: readonly string[];
  readonly exitCode: number;
}

/** Formats as the builtin `printf` of bash 5.2 does. Texts are byte texts. */
export function formatPrintf(
  format: string,
  words: readonly string[],
  context: Pick<CommandContext, "files" | "variables">,
): PrintfResult {
  return new Formatter(words, context).run(format);
}

/** What stands between `%` and the letter of a directive. */
export interface Directive {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
}

class Formatter {
  readonly #words: readonly string[];
  readonly #context: Pick<CommandContext, "files" | "variables">;
  readonly #errors: string[] = [];
  #at = 0;
  #text = "";
  #failed = false;

  constructor(words: readonly string[], context: Pick<CommandContext, "files" | "variables">) {
    this.#words = words;
    this.#context = context;
  }

  run(format: string): PrintfResult {
    do {
      const start = this.#at;
      if (!this.#runOnce(format)) break;
      if (this.#at === start) break;
    } while (this.#at < this.#words.length);
    return { text: this.#text, errors: this.#errors, exitCode: this.#failed ? 1 : 0 };
  }

  /** Prints the format once. Returns whether to go on. */
  #runOnce(format: string): boolean {
    for (let at = 0; at < format.length;) {
      const sign = format.charAt(at);
      if (sign === "\\") {
        const escape = readEscape(format, at, { isArgument: false });
        this.#text += escape.text;
        at = escape.end;
      } else if (sign === "%") {
        const match = CONVERSION.exec(format.slice(at));
        if (!match) {
          const wrong = /^%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d*))?[hlLjzt]*([^]?)/.exec(format.slice(at))?.[1] ??
            "";
          this.#complain(
            wrong === ""
              ? `\`${format.slice(at)}': missing format character`
              : `\`${wrong}': invalid format character`,
          );
          return false;
        }
        at += match[0].length;
        if (match[0] === "%%") this.#text += "%";
        else if (match[4] === "%") {
          this.#complain("`%': invalid format character");
          return false;
        } else if (!this.#convert(match)) return false;
      } else {
        this.#text += sign;
        at++;
      }
    }
    return true;
  }

  #complain(message: string): void {
    this.#errors.push(message);
    this.#failed = true;
  }

  #next(): string | undefined {
    return this.#words[this.#at++];
  }

  #convert([, flagText = "", widthText, precisionText, letter = ""]: RegExpExecArray): boolean {
    let flags = flagText;
    let width = widthText === "*" ? Number(this.#integer(this.#next(), true)) : Number(widthText ?? 0);
    if (width < 0) {
      flags += "-";
      width = -width;
    }
    const given = precisionText === "*"
      ? Number(this.#integer(this.#next(), true))
      : precisionText === undefined
      ? undefined
      : Number(precisionText || 0);
    const precision = given !== undefined && given < 0 ? undefined : given;
    if (width > MAX_WIDTH || (precision ?? 0) > MAX_WIDTH) {
      this.#complain(`width or precision over ${MAX_WIDTH} is not available in the sandbox`);
      return false;
    }
    const directive = { flags, width, precision };
    if (letter.startsWith("(")) {
      this.#text += padCut(this.#time(letter.slice(1, -2)), directive);
      return true;
    }
    const word = this.#next();
    switch (letter) {
      case "s":
        this.#text += padCut(word ?? "", directive);
        return true;
      case "c":
        this.#text += pad((word ?? "").slice(0, 1) || (word === undefined ? "" : "\0"), directive);
        return true;
      case "q":
      case "Q": {
        const text = letter === "Q" && precision !== undefined
          ? (word ?? "").slice(0, precision)
          : word ?? "";
        const quotedWord = quoteForShell(text);
        this.#text += letter === "Q" ? pad(quotedWord, directive) : padCut(quotedWord, directive);
        return true;
      }
      case "b": {
        const { text, isEnd } = expandEscapes(word ?? "");
        this.#text += padCut(text, directive);
        return !isEnd;
      }
      default:
        this.#text += "diouxX".includes(letter)
          ? formatInteger(this.#integer(word, "di".includes(letter)), letter, directive)
          : formatFloat(this.#float(word), letter, directive);
        return true;
    }
  }

  #integer(word: string | undefined, isSigned: boolean): bigint {
    if (word === undefined || word === "") return 0n;
    if (/^["']/.test(word)) return characterCode(word.slice(1));
    const [, sign = "", digits = "", rest = ""] =
      /^[ \t\n\r\f\v]*([-+]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)?([^]*)$/.exec(word) ?? [];
    if (rest !== "" || digits === "") {
      const isOctal = /^0/.test(digits) && /^[89]/.test(rest);
      this.#complain(`${unicodeText(word)}: invalid ${isOctal ? "octal " : ""}number`);
    }
    const source = /^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits || "0";
    const size = BigInt(source);
    const value = sign === "-" ? -size : size;
    const [low, high] = isSigned ? [-INT64_MAX - 1n, INT64_MAX] : [-UINT64_MAX, UINT64_MAX];
    if (value >= low && value <= high) return value;
    this.#errors.push(`warning: ${unicodeText(word)}: Numerical result out of range`);
    return value < low ? (isSigned ? low : UINT64_MAX) : high;
  }

  #float(word: string | undefined): number {
    if (word === undefined || word === "") return 0;
    if (/^["']/.test(word)) return Number(characterCode(word.slice(1)));
    const [, sign = "", body, rest = ""] =
      /^[ \t\n\r\f\v]*([-+]?)(0[xX][0-9a-fA-F]+(?![.pP])|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN])?([^]*)$/
        .exec(word) ?? [];
    if (body === undefined || rest !== "") this.#complain(`${unicodeText(word)}: invalid number`);
    if (body === undefined) return 0;
    const size = /^i/i.test(body) ? Infinity : /^n/i.test(body) ? NaN : Number(body);
    return sign === "-" ? -size : size;
  }

  #time(format: string): string {
    const word = this.#next();
    const value = word === undefined ? -1n : this.#integer(word, true);
    const timeMs = value === -1n || value === -2n ? Date.now() : Number(value) * 1000;
    return formatDate(
      format === "" ? "%H:%M:%S" : format,
      Math.floor(timeMs / 1000) * 1000,
      zoneOf(this.#context),
    );
  }
}

function characterCode(text: string): bigint {
  return BigInt(unicodeText(text).codePointAt(0) ?? 0);
}

function pad(text: string, { flags, width }: Directive): string {
  return flags.includes("-") ? text.padEnd(width) : text.padStart(width);
}

function padCut(text: string, directive: Directive): string {
  return pad(directive.precision === undefined ? text : text.slice(0, directive.precision), directive);
}

function signOf(isNegative: boolean, flags: string): string {
  return isNegative ? "-" : flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
}

function padNumber(
  sign: string,
  digits: string,
  { flags, width, isZeroPadded }: { flags: string; width: number; isZeroPadded: boolean },
): string {
  const filled = isZeroPadded ? digits.padStart(width - sign.length, "0") : digits;
  const text = sign + filled;
  return flags.includes("-") ? text.padEnd(width) : text.padStart(width);
}

/** Formats an integer as C's `printf` does. */
export function formatInteger(value: bigint, letter: string, { flags, width, precision }: Directive): string {
  const isSigned = letter === "d" || letter === "i";
  const wrapped = isSigned ? value : BigInt.asUintN(64, value);
  const size = wrapped < 0n ? -wrapped : wrapped;
  const radix = letter === "o" ? 8 : letter === "x" || letter === "X" ? 16 : 10;
  let digits = precision === 0 && size === 0n ? "" : size.toString(radix).padStart(precision ?? 1, "0");
  if (flags.includes("#") && radix === 8 && !digits.startsWith("0")) digits = `0${digits}`;
  const prefix = flags.includes("#") && radix === 16 && size !== 0n ? "0x" : "";
  const sign = (isSigned ? signOf(wrapped < 0n, flags) : "") + prefix;
  const isZeroPadded = flags.includes("0") && !flags.includes("-") && precision === undefined;
  const text = padNumber(sign, digits, { flags, width, isZeroPadded });
  return letter === "X" ? text.toUpperCase() : text;
}

/** Formats a number as C's `printf` does. */
export function formatFloat(value: number, letter: string, { flags, width, precision }: Directive): string {
  const sign = signOf(value < 0 || Object.is(value, -0), flags);
  const isFinite = Number.isFinite(value);
  const body = isFinite
    ? floatDigits(Math.abs(value), letter.toLowerCase(), { precision, isAlternate: flags.includes("#") })
    : Number.isNaN(value)
    ? "nan"
    : "inf";
  const isZeroPadded = isFinite && flags.includes("0") && !flags.includes("-");
  const isHex = body.startsWith("0x");
  const text = padNumber(sign + (isHex ? "0x" : ""), isHex ? body.slice(2) : body, {
    flags,
    width,
    isZeroPadded,
  });
  return /[A-Z]/.test(letter) ? text.toUpperCase() : text;
}

function floatDigits(
  value: number,
  letter: string,
  { precision, isAlternate }: { precision: number | undefined; isAlternate: boolean },
): string {
  if (letter === "a") return hexDigits(value, precision);
  const places = precision ?? 6;
  const dot = isAlternate ? "." : "";
  if (letter === "f") return places === 0 ? exactFixed(value, 0) + dot : exactFixed(value, places);
  if (letter === "e") return exponentDigits(value, places, dot);
  const significant = places === 0 ? 1 : places;
  const exponent = value === 0
    ? 0
    : Number(/e([-+]\d+)$/.exec(exponentDigits(value, significant - 1, ""))?.[1]);
  const isShort = exponent >= -4 && exponent < significant;
  const text = isShort
    ? exactFixed(value, significant - 1 - exponent)
    : exponentDigits(value, significant - 1, dot);
  if (isAlternate) return text.includes(".") ? text : `${text}.`;
  return text.replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "");
}

/** Returns the number as a fraction of integers, which is exact. */
function fractionOf(value: number): { top: bigint; bottom: bigint } {
  let exponent = 0;
  let scaled = value;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    exponent++;
  }
  return { top: BigInt(scaled), bottom: 2n ** BigInt(exponent) };
}

/** Divides and rounds half to even, as the C library does with exact values. */
function divideRounded(top: bigint, bottom: bigint): bigint {
  const whole = top / bottom;
  const twice = (top % bottom) * 2n;
  return twice > bottom || twice === bottom && whole % 2n === 1n ? whole + 1n : whole;
}

function exactFixed(value: number, places: number): string {
  const { top, bottom } = fractionOf(value);
  const digits = divideRounded(top * 10n ** BigInt(places), bottom).toString().padStart(places + 1, "0");
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

function exponentDigits(value: number, places: number, dot: string): string {
  if (value === 0) return `0${places > 0 ? `.${"0".repeat(places)}` : dot}e+00`;
  const { top, bottom } = fractionOf(value);
  let exponent = Number(/e([-+]\d+)$/.exec(value.toExponential())?.[1]);
  const digitsAt = (power: number) => {
    const shift = places - power;
    return shift >= 0
      ? divideRounded(top * 10n ** BigInt(shift), bottom)
      : divideRounded(top, bottom * 10n ** BigInt(-shift));
  };
  let digits = digitsAt(exponent).toString();
  if (digits.length > places + 1) digits = digitsAt(++exponent).toString();
  const fraction = places > 0 ? `.${digits.slice(1)}` : dot;
  const power = String(Math.abs(exponent)).padStart(2, "0");
  return `${digits.charAt(0)}${fraction}e${exponent < 0 ? "-" : "+"}${power}`;
}

/** `%a` as bash prints it: the C library's `long double`, whose first digit has four bits. */
function hexDigits(value: number, precision: number | undefined): string {
  if (value === 0) return `0x0${precision ? `.${"0".repeat(precision)}` : ""}p+0`;
  let exponent = Math.floor(Math.log2(value));
  let scaled = value / 2 ** exponent;
  if (scaled >= 2) [scaled, exponent] = [scaled / 2, exponent + 1];
  if (scaled < 1) [scaled, exponent] = [scaled * 2, exponent - 1];
  const { top, bottom } = fractionOf(scaled * 8);
  exponent -= 3;
  const places = precision ?? 15;
  const digits = divideRounded(top * 16n ** BigInt(places), bottom).toString(16);
  const first = digits.slice(0, digits.length - places);
  let fraction = digits.slice(digits.length - places);
  if (precision === undefined) fraction = fraction.replace(/0+$/, "");
  return `0x${first}${fraction ? `.${fraction}` : ""}p${exponent < 0 ? "-" : "+"}${Math.abs(exponent)}`;
}

/** Reads an escape. Octal codes in arguments of `%b` may begin with a zero that does not count. */
function readEscape(
  text: string,
  at: number,
  { isArgument }: { isArgument: boolean },
): { text: string; end: number; isEnd?: boolean } {
  const rest = text.slice(at + 1);
  const [octal] = (isArgument ? /^(?:0[0-7]{0,3}|[1-7][0-7]{0,2})/ : /^[0-7]{1,3}/).exec(rest) ?? [];
  if (octal !== undefined) {
    const code = Number.parseInt(octal, 8) & 0xff;
    return { text: String.fromCharCode(code), end: at + 1 + octal.length };
  }
  const [hex] = /^x[0-9a-fA-F]{1,2}/.exec(rest) ?? [];
  if (hex !== undefined) {
    return { text: String.fromCharCode(Number.parseInt(hex.slice(1), 16)), end: at + 1 + hex.length };
  }
  const [point] = /^(?:u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8})/.exec(rest) ?? [];
  if (point !== undefined) {
    const code = Number.parseInt(point.slice(1), 16);
    const isValid = code <= 0x10ffff;
    return { text: isValid ? byteText(String.fromCodePoint(code)) : "", end: at + 1 + point.length };
  }
  const letter = rest.charAt(0);
  if (isArgument && letter === "c") return { text: "", end: text.length, isEnd: true };
  const simple = SIMPLE_ESCAPES[letter];
  return simple === undefined
    ? { text: `\\${letter}`, end: at + 1 + letter.length }
    : { text: simple, end: at + 2 };
}

function expandEscapes(text: string): { text: string; isEnd: boolean } {
  let expanded = "";
  for (let at = 0; at < text.length;) {
    if (text.charAt(at) !== "\\") {
      expanded += text.charAt(at++);
      continue;
    }
    const escape = readEscape(text, at, { isArgument: true });
    expanded += escape.text;
    if (escape.isEnd) return { text: expanded, isEnd: true };
    at = escape.end;
  }
  return { text: expanded, isEnd: false };
}

const CONTROLS: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\x1b": "\\E",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  "'": "\\'",
};

/** Quotes a word as `%q` does. */
function quoteForShell(word: string): string {
  if (word === "") return "''";
  const isText = byteText(unicodeText(word)) === word;
  const hasControls = [...word].some((sign) => sign < " " || sign === "\x7f") || !isText;
  if (hasControls) {
    const inside = [...word].map((sign) => {
      const known = CONTROLS[sign];
      if (known !== undefined) return known;
      const code = sign.charCodeAt(0);
      const isPlain = code >= 32 && code < 127 || code >= 128 && isText;
      return isPlain ? sign : `\\${code.toString(8).padStart(3, "0")}`;
    }).join("");
    return `$'${inside}'`;
  }
  return word.replace(/[ !"$&'()*,;<>?[\\\]^`{|}]/g, "\\$&").replace(/^[#~]/, "\\$&").replace(
    /([:=])~/g,
    "$1\\~",
  );
}
