import { byteText, C_ESCAPES } from "../gnu/command.ts";
import type { Builtin } from "./builtin.ts";

const ESCAPE = /\\(?:0([0-7]{0,3})|x([0-9a-fA-F]{1,2})|(c)[^]*|([abfnrtv\\])|([eE]))/g;

/** `echo -e` of bytes such as `\xff`, which the engine takes for characters. */
export const echoBytes: Builtin = ({ args }) => {
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
