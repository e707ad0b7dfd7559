import { byteText, C_ESCAPES } from "../gnu/command.ts";
import type { Builtin } from "./builtin.ts";

const ESCAPE = /\\(?:0([0-7]{0,3})|x([0-9a-fA-F]{1,2})|(c)[^]*|([abfnrtv\\])|([eE]))/g;

const DASH_ESCAPE = /\\(?:0?([0-7]{1,3})|0()|(c)[^]*|([abfnrtv\\])|(e))/g;

/** `echo` of dash, which takes no option but `-n`, and always reads escapes. */
function echoOfDash(args: readonly string[]): ReturnType<Builtin> {
  const isOption = args[0] === "-n";
  const text = args.slice(isOption ? 1 : 0).join(" ");
  let isCut = isOption;
  const bytes = byteText(text).replace(DASH_ESCAPE, (_, octal, zero, cut, letter) => {
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
    if (zero !== undefined) return "\0";
    if (cut !== undefined) isCut = true;
    return cut !== undefined ? "" : letter === undefined ? "\x1b" : C_ESCAPES[letter] ?? "";
  });
  return { stdout: isCut ? bytes : `${bytes}\n`, stdoutKind: "bytes", stderr: "", exitCode: 0 };
}

/** `echo -e` of bytes such as `\xff`, which the engine takes for characters. */
export const echoBytes: Builtin = ({ args, state }) => {
  if (state.isDash) return echoOfDash(args);
  const count = args.findIndex((word) => !/^-[neE]+$/.test(word));
  const flags = args.slice(0, count < 0 ? args.length : count).join("");
  const text = args.slice(count < 0 ? args.length : count).join(" ");
  const isEscaped = flags.lastIndexOf("e") > flags.lastIndexOf("E");
  if (!isEscaped || !/\\(?:0[23][0-7]{2}|x[89a-fA-F][0-9a-fA-F])/.test(text)) return undefined;
  let isCut = false;
  const bytes = byteText(text).replace(ESCAPE, (_, octal, hex, cut, letter, escape) => {
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal || "0", 8) & 0xff);
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    if (cut !== undefined) isCut = true;
    return cut !== undefined ? "" : escape !== undefined ? "\x1b" : C_ESCAPES[letter] ?? "";
  });
  const end = isCut || flags.includes("n") ? "" : "\n";
  return { stdout: bytes + end, stdoutKind: "bytes", stderr: "", exitCode: 0 };
};
