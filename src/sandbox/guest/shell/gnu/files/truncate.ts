import { errorText, type GnuCommand, pathOf, statusOf, UsageError } from "../command.ts";
import { parseOptions, readSize } from "../options.ts";
import { fail, quoted } from "./operands.ts";

/** `truncate` of GNU coreutils 9.1. */
export const truncate: GnuCommand = (args, { files, cwd, warn }) => {
  const options = parseOptions(args, "c,no-create:o,io-blocks:r,reference=:s,size=");
  if (options.has("o")) fail("the option -o is not available in the sandbox");
  const [given, reference] = [options.value("s"), options.value("r")];
  if (given === undefined && reference === undefined) {
    throw new UsageError("you must specify either '--size' or '--reference'");
  }
  const [, sign = "", digits = ""] = /^\s*([-+<>/%]?)\s*(.*)$/.exec(given ?? "") ?? [];
  const amount = given === undefined ? 0 : readSize(digits) ?? fail(`Invalid number: ${quoted(given)}`);
  if (given !== undefined && reference !== undefined && sign === "") {
    throw new UsageError("you must specify a relative '--size' with '--reference'");
  }
  if ((sign === "/" || sign === "%") && amount === 0) fail("division by zero");
  if (options.operands.length === 0) throw new UsageError("missing file operand");
  const base = reference === undefined ? undefined : statusOf(files, pathOf(cwd, reference));
  if (reference !== undefined && !base) fail(`cannot stat ${quoted(reference)}: No such file or directory`);
  let failed = false;
  for (const name of options.operands) {
    const path = pathOf(cwd, name);
    try {
      const status = statusOf(files, path);
      if (!status && options.has("c")) continue;
      const old = status ? files.read(path) : new Uint8Array();
      const size = sizeOf(base?.size ?? old.length, sign, { amount, isGiven: given !== undefined });
      const bytes = new Uint8Array(size);
      bytes.set(old.subarray(0, size));
      files.write(path, bytes);
    } catch (error) {
      warn(`cannot open ${quoted(name)} for writing: ${errorText(error)}`);
      failed = true;
    }
  }
  return failed ? 1 : 0;
};

function sizeOf(
  old: number,
  sign: string,
  { amount, isGiven }: { amount: number; isGiven: boolean },
): number {
  if (!isGiven) return old;
  switch (sign) {
    case "+":
      return old + amount;
    case "-":
      return Math.max(0, old - amount);
    case "<":
      return Math.min(old, amount);
    case ">":
      return Math.max(old, amount);
    case "/":
      return Math.floor(old / amount) * amount;
    case "%":
      return Math.ceil(old / amount) * amount;
    default:
      return amount;
  }
}
