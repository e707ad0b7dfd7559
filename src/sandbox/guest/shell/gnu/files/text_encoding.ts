/** How a text is encoded, in the words of `file`. */
export interface TextEncoding {
  /** Such as `ASCII`. */
  readonly name: string;
  readonly charset: string;
  /** Remarks on its lines, such as `, with CRLF line terminators`. */
  readonly remarks: string;
}

const LONG_LINE = 300;
/** Characters that no text has. */
// deno-lint-ignore no-control-regex -- those are looked for
const NO_TEXT = /[\0-\x06\x0e-\x1a\x1c-\x1f\x7f]/;

/** Returns the encoding of contents, or `undefined` if they are no text. `bytes` has a character for each byte. */
export function encodingOf(bytes: string): TextEncoding | undefined {
  const isLittle = bytes.startsWith("\xff\xfe");
  if (isLittle || bytes.startsWith("\xfe\xff")) {
    const text = decode(bytes.slice(2), isLittle ? "utf-16le" : "utf-16be");
    if (text === undefined || NO_TEXT.test(text)) return undefined;
    const name = `Unicode text, UTF-16, ${isLittle ? "little" : "big"}-endian`;
    return { name, charset: `utf-16${isLittle ? "le" : "be"}`, remarks: remarksOn(text) };
  }
  if (NO_TEXT.test(bytes)) return undefined;
  const remarks = remarksOn(bytes);
  if (!/[\x80-\xff]/.test(bytes)) return { name: "ASCII", charset: "us-ascii", remarks };
  const text = decode(bytes, "utf-8");
  if (text !== undefined) {
    const mark = bytes.startsWith("\xef\xbb\xbf") ? " (with BOM)" : "";
    return { name: `Unicode text, UTF-8${mark}`, charset: "utf-8", remarks: remarksOn(text) };
  }
  if (/[\x80-\x84\x86-\x9f]/.test(bytes)) {
    return { name: "Non-ISO extended-ASCII", charset: "unknown-8bit", remarks };
  }
  return { name: "ISO-8859", charset: "iso-8859-1", remarks };
}

function decode(bytes: string, encoding: string): string | undefined {
  const data = Uint8Array.from(bytes, (sign) => sign.charCodeAt(0));
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(data);
  } catch {
    return undefined; // the bytes have another encoding
  }
}

function remarksOn(text: string): string {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  const [crlf, cr, lf] = [count(/\r\n/g), count(/\r(?!\n)/g), count(/(?<!\r)\n/g)];
  const longest = text.split(/\r\n|\r|\n/).reduce((length, line) => Math.max(length, line.length), 0);
  const ends = [crlf && "CRLF", cr && "CR", lf && "LF"].filter((name) => name).join(", ");
  return [
    longest > LONG_LINE ? `, with very long lines (${longest})` : "",
    ends === "" ? ", with no line terminators" : crlf || cr ? `, with ${ends} line terminators` : "",
    text.includes("\x1b") ? ", with escape sequences" : "",
    text.includes("\b") ? ", with overstriking" : "",
  ].join("");
}
