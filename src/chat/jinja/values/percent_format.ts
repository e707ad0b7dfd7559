import { PythonTypeError, PythonValueError, UnsupportedError } from "../jinja_errors.ts";
import { formatDouble, pad } from "./number_format.ts";
import { intOf, intText, numberOf, truncate } from "./numbers.ts";
import type { Run } from "../run.ts";
import { charsOf, escapeHtml, lengthOf, reprOf, requireString, strOf } from "./text.ts";
import {
  Dict,
  Float,
  isList,
  Markup,
  Range,
  stringOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";

const SPECIFIER = /%(?:\(((?:[^()]|\([^()]*\))*)\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?[hlL]?([^]?)/gu;

/** Returns `format % values` as Python does for strings. */
export function formatPercent(format: Value, values: Value, run: Run): Value {
  const text = requireString(format, "a format");
  const formatted = new PercentFormatter(values, { run, isSafe: format instanceof Markup }).format(text);
  run.grow(formatted.length);
  return format instanceof Markup ? new Markup(formatted) : formatted;
}

class PercentFormatter {
  readonly #args: readonly Value[];
  readonly #run: Run;
  readonly #isSafe: boolean;
  #next = 0;
  #usedNames = false;

  constructor(readonly values: Value, { run, isSafe }: { run: Run; isSafe: boolean }) {
    this.#args = values instanceof Tuple ? values.items : [values];
    this.#run = run;
    this.#isSafe = isSafe;
  }

  format(text: string): string {
    const result = text.replace(
      SPECIFIER,
      (_all, name?: string, flags = "", width = "", precision?: string, kind = "") =>
        this.#specifier({ name, flags, width, precision, kind, hasPoint: _all.includes(".") }),
    );
    const { values } = this;
    const isMapping = values instanceof Dict || isList(values) || values instanceof Range; // Python takes what has items and is no tuple or string
    if (!this.#usedNames && this.#next < this.#args.length && !isMapping && !(values instanceof Undefined)) {
      throw new PythonTypeError("not all arguments were converted by a format");
    }
    return result;
  }

  #specifier(
    spec: {
      name?: string | undefined;
      flags: string;
      width: string;
      precision?: string | undefined;
      kind: string;
      hasPoint: boolean;
    },
  ): string {
    const { name, flags, kind } = spec;
    const { values } = this;
    if (kind === "") throw new PythonValueError("incomplete format");
    if (kind === "%") return "%";
    if (name !== undefined && !(values instanceof Dict)) {
      throw new PythonTypeError("a format with names needs a mapping");
    }
    const width = spec.width === "*" ? this.#integerArgument() : Number(spec.width);
    const precision = spec.precision === "*"
      ? this.#integerArgument()
      : spec.precision !== undefined
      ? Number(spec.precision)
      : spec.hasPoint
      ? 0
      : undefined;
    const value = name === undefined ? this.#nextArgument() : this.#named(name);
    const isLeft = flags.includes("-") || width < 0;
    const { sign, body, isNumber } = this.#convert(value, { kind, flags, precision });
    const size = Math.abs(width);
    if (isNumber && flags.includes("0") && !isLeft) {
      return sign + pad(body, { width: size - sign.length, fill: "0", align: ">", run: this.#run });
    }
    return pad(sign + body, { width: size, fill: " ", align: isLeft ? "<" : ">", run: this.#run });
  }

  #convert(
    value: Value,
    { kind, flags, precision }: { kind: string; flags: string; precision: number | undefined },
  ): { sign: string; body: string; isNumber: boolean } {
    if ("sra".includes(kind)) {
      if (kind === "a") throw new UnsupportedError("'%a' is not supported");
      const text = this.#escape(kind === "s" ? value : reprOf(value, this.#run));
      return {
        sign: "",
        body: precision === undefined ? text : charsOf(text).slice(0, precision).join(""),
        isNumber: false,
      };
    }
    if (kind === "c") return { sign: "", body: charOf(value), isNumber: false };
    const plus = flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
    const alternate = flags.includes("#");
    if ("diuoxX".includes(kind)) {
      const int = "diu".includes(kind) ? wholeOf(value) : requireInteger(value, kind);
      const base = kind === "o" ? 8 : kind.toLowerCase() === "x" ? 16 : 10;
      const plain = base === 10 ? intText(int).replace("-", "") : int.toString(base).replace("-", "");
      const digits = plain.padStart(precision ?? 0, "0");
      const prefix = alternate && base !== 10 ? (base === 8 ? "0o" : "0x") : "";
      const body = kind === "X" ? digits.toUpperCase() : digits;
      return {
        sign: (int < 0 ? "-" : plus) + (kind === "X" ? prefix.toUpperCase() : prefix),
        body,
        isNumber: true,
      };
    }
    if (!"eEfFgG".includes(kind)) throw new PythonValueError(`unknown format '%${kind}'`);
    const number = doubleOf(value);
    const isNegative = number < 0 || Object.is(number, -0);
    const body = formatDouble(Math.abs(number), { kind, precision: precision ?? 6, alternate });
    return { sign: isNegative ? "-" : plus, body, isNumber: true };
  }

  #escape(value: Value): string {
    return this.#isSafe ? escapeHtml(value, this.#run).text : strOf(value, this.#run);
  }

  #nextArgument(): Value {
    const value = this.#args[this.#next++];
    if (value === undefined) throw new PythonTypeError("a format has more places than arguments");
    return value;
  }

  #integerArgument(): number {
    const value = intOf(this.#nextArgument());
    if (value === undefined) throw new PythonTypeError("'*' in a format needs an integer");
    return Number(value);
  }

  #named(name: string): Value {
    this.#usedNames = true;
    const value = (this.values as Dict).get(name);
    if (value === undefined) throw new PythonValueError(`a format names '${name}', which is missing`);
    return value;
  }
}

function charOf(value: Value): string {
  const text = stringOf(value);
  if (text !== undefined && lengthOf(text) === 1) return text;
  const code = intOf(value);
  if (code === undefined || code < 0 || code > 0x10ffff) {
    throw new PythonTypeError("'%c' needs a character or its code");
  }
  return String.fromCodePoint(Number(code));
}

function wholeOf(value: Value): number | bigint {
  if (value instanceof Float) return truncate(value.value);
  return requireInteger(value, "d");
}

function requireInteger(value: Value, kind: string): number | bigint {
  const int = intOf(value);
  if (value instanceof Undefined) value.fail();
  if (int === undefined) throw new PythonTypeError(`'%${kind}' needs a number, not ${typeName(value)}`);
  return int;
}

function doubleOf(value: Value): number {
  if (value instanceof Undefined) value.fail();
  const number = numberOf(value);
  if (number === undefined) throw new PythonTypeError(`a format needs a number, not ${typeName(value)}`);
  return number;
}
