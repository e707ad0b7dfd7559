import { bytesOf, byteText, type GnuCommand, pathOf, readInputs, UsageError } from "../command.ts";
import { fail, quoted } from "../files/operands.ts";
import { parseOptions } from "../options.ts";

/** Encodings by their names without signs, as `TextDecoder` names them. */
const ENCODINGS: Readonly<Record<string, string>> = {
  utf8: "utf-8",
  ascii: "ascii",
  usascii: "ascii",
  ansix341968: "ascii",
  iso88591: "latin1",
  latin1: "latin1",
  l1: "latin1",
  utf16: "utf-16",
  utf16le: "utf-16le",
  utf16be: "utf-16be",
  utf32le: "utf-32le",
  utf32be: "utf-32be",
};

/** `iconv` of glibc, for the encodings of Unicode, ASCII and Latin-1. */
export const iconv: GnuCommand = (args, context) => {
  const options = parseOptions(args, "f,from-code=:t,to-code=:l,list:c:o,output=:s,silent:verbose");
  if (options.has("l")) {
    fail(
      "the list of encodings is not available in the sandbox: it has UTF-8, UTF-16, UTF-32, ASCII and ISO-8859-1",
    );
  }
  const [, target = "", suffix = ""] = /^([^/]*)((?:\/\/.*)?)$/.exec(options.value("t") ?? "UTF-8") ?? [];
  const source = (options.value("f") ?? "UTF-8").split("//", 1)[0] ?? "";
  const [from, to] = [source, target].map((name) => ENCODINGS[name.toLowerCase().replace(/[^a-z0-9]/g, "")]);
  if (from === undefined || to === undefined) {
    const which = from === undefined
      ? to === undefined
        ? `conversions from ${quoted(source)} and to ${quoted(target)} are`
        : `conversion from ${quoted(source)} is`
      : `conversion to ${quoted(target)} is`;
    throw new UsageError(`${which} not supported`, { hasHint: true });
  }
  if (/TRANSLIT/i.test(suffix)) fail("//TRANSLIT is not available in the sandbox");
  const isLoose = options.has("c") || /IGNORE/i.test(suffix);
  const { inputs, failed } = readInputs(options.operands, context);
  let output = "";
  let code = failed ? 1 : 0;
  for (const { text } of inputs) {
    const decoded = decode(text, from, isLoose);
    const encoded = encode(decoded.text, to, isLoose);
    output += encoded.text;
    const problem = encoded.at === undefined ? decoded.at : lengthOf(decoded.text.slice(0, encoded.at), from);
    if (problem !== undefined) {
      context.warn(
        decoded.isCut && encoded.at === undefined
          ? "incomplete character or shift sequence at end of buffer"
          : `illegal input sequence at position ${problem}`,
      );
      code = 1;
    }
  }
  const file = options.value("o");
  if (file === undefined) context.print(output);
  else context.files.write(pathOf(context.cwd, file), bytesOf(output));
  return code;
};

interface Decoded {
  readonly text: string;
  /** Position of the first byte that is not valid. */
  readonly at?: number;
  /** True if the input ends inside of a character. */
  readonly isCut?: boolean;
}

function decode(bytes: string, encoding: string, isLoose: boolean): Decoded {
  if (encoding === "latin1") return { text: bytes };
  if (encoding === "ascii") {
    const at = bytes.search(/[\x80-\xff]/);
    if (at < 0) return { text: bytes };
    return isLoose ? { text: bytes.replace(/[\x80-\xff]/g, "") } : { text: bytes.slice(0, at), at };
  }
  if (encoding.startsWith("utf-32")) return decodeWide(bytes, encoding.endsWith("le"));
  if (encoding !== "utf-8") {
    const mark = encoding === "utf-16" ? bytes.slice(0, 2) : "";
    const isBig = mark === "\xfe\xff" || encoding === "utf-16be";
    const body = mark === "\xfe\xff" || mark === "\xff\xfe" ? bytes.slice(2) : bytes;
    let text = "";
    for (let at = 0; at + 1 < body.length; at += 2) {
      const [first, second] = [body.charCodeAt(at), body.charCodeAt(at + 1)];
      text += String.fromCharCode(isBig ? first << 8 | second : second << 8 | first);
    }
    return body.length % 2 === 0 ? { text } : { text, at: bytes.length - 1, isCut: true };
  }
  let text = "";
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const SEQUENCE =
    /[^\x80-\xff]+|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/y;
  for (let at = 0; at < bytes.length;) {
    SEQUENCE.lastIndex = at;
    const [piece] = SEQUENCE.exec(bytes) ?? [];
    const valid = piece === undefined ? undefined : decodePiece(decoder, piece);
    if (piece !== undefined && valid !== undefined) {
      text += valid;
      at += piece.length;
    } else if (isLoose) at++;
    else {
      const rest = bytes.slice(at);
      const isCut = /^(?:[\xc2-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2})$/.test(rest);
      return { text, at, isCut };
    }
  }
  return { text };
}

function decodePiece(decoder: TextDecoder, piece: string): string | undefined {
  try {
    return decoder.decode(bytesOf(piece));
  } catch {
    return undefined; // a surrogate or an overlong form
  }
}

function decodeWide(bytes: string, isLittle: boolean): Decoded {
  const view = new DataView(bytesOf(bytes).buffer);
  let text = "";
  for (let at = 0; at + 3 < bytes.length; at += 4) {
    const code = view.getUint32(at, isLittle);
    if (code > 0x10ffff) return { text, at };
    text += String.fromCodePoint(code);
  }
  return { text };
}

function encode(text: string, encoding: string, isLoose: boolean): Decoded {
  if (encoding === "utf-8") return { text: byteText(text) };
  if (encoding.startsWith("utf-")) {
    const isBig = encoding.endsWith("be");
    const isWide = encoding.startsWith("utf-32");
    const unit = (code: number) => {
      const bytes = isWide
        ? [code >>> 24, code >> 16 & 255, code >> 8 & 255, code & 255]
        : [code >> 8, code & 255];
      return String.fromCharCode(...isBig ? bytes : bytes.reverse());
    };
    const mark = encoding === "utf-16" ? "\xff\xfe" : "";
    const units = isWide
      ? [...text].map((sign) => sign.codePointAt(0) ?? 0)
      : Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
    return { text: mark + units.map(unit).join("") };
  }
  const pattern = encoding === "ascii" ? /[\u{80}-\u{10ffff}]/u : /[\u{100}-\u{10ffff}]/u;
  const at = text.search(pattern);
  if (at < 0) return { text };
  if (!isLoose) return { text: text.slice(0, at), at };
  return { text: [...text].filter((sign) => !pattern.test(sign)).join("") };
}

function lengthOf(text: string, encoding: string): number {
  return encode(text, encoding === "ascii" ? "latin1" : encoding, true).text.length;
}
