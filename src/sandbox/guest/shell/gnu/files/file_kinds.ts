// deno-lint-ignore-file no-control-regex -- binary files begin with such characters
import { formatDate } from "../date.ts";
import type { Zone } from "../time_zone.ts";
import { unicodeText } from "../command.ts";
import { encodingOf, type TextEncoding } from "./text_encoding.ts";

/** What `file` says of contents. */
export interface FileKind {
  readonly description: string;
  readonly mime: string;
  readonly charset: string;
}

/** A kind of binary contents: what they start with, and what is said of them. */
interface Signature {
  readonly start: RegExp;
  readonly mime: string;
  readonly describe: (bytes: string, zone: Zone) => string;
}

function number(bytes: string, at: number, size: number, isBig = false): number {
  const signs = [...bytes.slice(at, at + size)];
  return (isBig ? signs : signs.reverse()).reduce((sum, sign) => sum * 256 + sign.charCodeAt(0), 0);
}

const MACHINES: Readonly<Record<number, string>> = {
  2: "SPARC",
  3: "Intel 80386",
  8: "MIPS",
  20: "PowerPC or cisco 4500",
  21: "64-bit PowerPC or cisco 7500",
  40: "ARM",
  62: "x86-64",
  183: "ARM aarch64",
  243: "UCB RISC-V",
};
const ELF_TYPES = ["no file type", "relocatable", "executable", "shared object", "core file"];
const PNG_COLORS: Readonly<Record<number, string>> = {
  0: "grayscale",
  2: "/color RGB",
  3: " colormap",
  4: "gray+alpha",
  6: "/color RGBA",
};

const SIGNATURES: readonly Signature[] = [
  { start: /^\x7fELF[\x01\x02][\x01\x02]/, mime: "application/x-executable", describe: describeElf },
  { start: /^\x1f\x8b\x08/, mime: "application/gzip", describe: describeGzip },
  {
    start: /^BZh[1-9]/,
    mime: "application/x-bzip2",
    describe: (bytes) => `bzip2 compressed data, block size = ${bytes.charAt(3)}00k`,
  },
  {
    start: /^\xfd7zXZ\x00/,
    mime: "application/x-xz",
    describe: (bytes) => {
      const checksum = { 0: "NONE", 1: "CRC32", 4: "CRC64", 10: "SHA-256" }[number(bytes, 7, 1)];
      return `XZ compressed data${checksum ? `, checksum ${checksum}` : ""}`;
    },
  },
  {
    start: /^\x28\xb5\x2f\xfd/,
    mime: "application/zstd",
    describe: () => "Zstandard compressed data (v0.8+)",
  },
  { start: /^PK\x03\x04/, mime: "application/zip", describe: describeZip },
  { start: /^PK\x05\x06/, mime: "application/zip", describe: () => "Zip archive data (empty)" },
  { start: /^.{257}ustar {2}\0/s, mime: "application/x-tar", describe: () => "POSIX tar archive (GNU)" },
  { start: /^.{257}ustar\0/s, mime: "application/x-tar", describe: () => "POSIX tar archive" },
  { start: /^\x89PNG\r\n\x1a\n.{4}IHDR/s, mime: "image/png", describe: describePng },
  {
    start: /^GIF8[79]a/,
    mime: "image/gif",
    describe: (bytes) =>
      `GIF image data, version ${bytes.slice(3, 6)}, ${number(bytes, 6, 2)} x ${number(bytes, 8, 2)}`,
  },
  { start: /^\xff\xd8\xff/, mime: "image/jpeg", describe: describeJpeg },
  {
    start: /^%PDF-/,
    mime: "application/pdf",
    describe: (bytes) => `PDF document, version ${/^%PDF-([\d.]+)/.exec(bytes)?.[1] ?? ""}`,
  },
  { start: /^SQLite format 3\0.{84}/s, mime: "application/vnd.sqlite3", describe: describeSqlite },
  {
    start: /^\0asm\x01\0\0\0/,
    mime: "application/wasm",
    describe: () => "WebAssembly (wasm) binary module version 0x1 (MVP)",
  },
];

function describeElf(bytes: string): string {
  const [is64, isBig] = [bytes.charAt(4) === "\x02", bytes.charAt(5) === "\x02"];
  const type = ELF_TYPES[number(bytes, 16, 2, isBig)] ?? "*unknown arch*";
  const machine = MACHINES[number(bytes, 18, 2, isBig)] ?? "*unknown arch*";
  const version = number(bytes, 20, 4, isBig);
  const system = bytes.charAt(7) === "\x03" ? "GNU/Linux" : "SYSV";
  const words = `ELF ${is64 ? "64" : "32"}-bit ${isBig ? "MSB" : "LSB"} ${type}, ${machine}`;
  return `${words}, version ${version} (${system})`;
}

function describeGzip(bytes: string, zone: Zone): string {
  const flags = number(bytes, 3, 1);
  const time = number(bytes, 4, 4);
  const level = { 2: ", max compression", 4: ", max speed" }[number(bytes, 8, 1)] ?? "";
  const start = flags & 4 ? 12 + number(bytes, 10, 2) : 10;
  const name = flags & 8 ? `, was "${unicodeText(bytes.slice(start).split("\0", 1)[0] ?? "")}"` : "";
  const date = time === 0 ? "" : `, last modified: ${formatDate("%a %b %e %H:%M:%S %Y", time * 1000, zone)}`;
  const system = { 0: ", from FAT filesystem (MS-DOS, OS/2, NT)", 3: ", from Unix" }[number(bytes, 9, 1)] ??
    "";
  return `gzip compressed data${name}${date}${level}${system}, original size modulo 2^32 ${
    number(bytes, bytes.length - 4, 4)
  }`;
}

function describeZip(bytes: string): string {
  const version = number(bytes, 4, 1);
  const method = { 0: "store", 8: "deflate", 12: "bzip2", 14: "lzma" }[number(bytes, 8, 2)];
  const needed = `at least v${Math.floor(version / 10)}.${version % 10} to extract`;
  return `Zip archive data, ${needed}${method ? `, compression method=${method}` : ""}`;
}

function describePng(bytes: string): string {
  const size = `${number(bytes, 16, 4, true)} x ${number(bytes, 20, 4, true)}`;
  const color = PNG_COLORS[number(bytes, 25, 1)] ?? "";
  const depth = `${number(bytes, 24, 1)}-bit${
    color.startsWith("/") || color === "" ? "" : " "
  }${color.trim()}`;
  return `PNG image data, ${size}, ${depth}, ${
    bytes.charAt(28) === "\x01" ? "interlaced" : "non-interlaced"
  }`;
}

function describeJpeg(bytes: string): string {
  if (bytes.slice(6, 11) !== "JFIF\0") return "JPEG image data";
  const unit = ["aspect ratio", "resolution (DPI)", "resolution (DPCM)"][number(bytes, 13, 1)] ?? "";
  const density = `density ${number(bytes, 14, 2, true)}x${number(bytes, 16, 2, true)}`;
  const version = `${number(bytes, 11, 1)}.${String(number(bytes, 12, 1)).padStart(2, "0")}`;
  return `JPEG image data, JFIF standard ${version}, ${unit}, ${density}, segment length ${
    number(bytes, 4, 2, true)
  }`;
}

function describeSqlite(bytes: string): string {
  const at = (offset: number) => number(bytes, offset, 4, true);
  const encoding = { 1: "UTF-8", 2: "UTF-16 little endian", 3: "UTF-16 big endian" }[at(56)] ??
    "unknown 0 encoding";
  return `SQLite 3.x database, last written using SQLite version ${at(96)}, file counter ${at(24)}, ` +
    `database pages ${at(28)}, cookie 0x${at(40).toString(16)}, schema ${at(44)}, ${encoding}, ` +
    `version-valid-for ${at(92)}`;
}

/** A kind of text: a pattern, and what is said in front of its encoding. */
interface Language {
  readonly pattern: RegExp;
  readonly name: string;
  readonly mime: string;
  readonly isExecutable?: boolean;
}

const PYTHON = { name: "Python script", mime: "text/x-script.python", isExecutable: true };
const HTML_START = /^\s*<(?:!doctype html|html|head|title|body|h1|a href|script|style|table|meta|link)[\s>]/i;

/** Languages by signs that are rare in others. Magic files know many more. */
const LANGUAGES: readonly Language[] = [
  { pattern: /^<\?xml[^>]*>\s*<svg/i, name: "SVG Scalable Vector Graphics image", mime: "image/svg+xml" },
  { pattern: /^<\?xml version=["']1\.0["']/, name: "XML 1.0 document", mime: "text/xml" },
  { pattern: /^<\?php/, name: "PHP script", mime: "text/x-php" },
  { pattern: /^-----BEGIN CERTIFICATE-----/, name: "PEM certificate", mime: "text/plain" },
  { pattern: /^\\documentclass/m, name: "LaTeX 2e document", mime: "text/x-tex" },
  { pattern: /^(?:diff |--- .*\n\+\+\+ |Index: )/, name: "diff output", mime: "text/x-diff" },
  { pattern: /^(?:"""|''')/, ...PYTHON },
  { pattern: /^from\s+[\w.]+\s+import\s/m, ...PYTHON },
  { pattern: /^[ \t]*def +\w+\(.*\).*:\s*$/m, ...PYTHON },
  { pattern: /^class +\w+(?:\(.*\))?:\s*$/m, ...PYTHON },
  { pattern: /^import\s+java[.\w*]*;/m, name: "Java source", mime: "text/x-java" },
  {
    pattern: /^(?:template\s*<|using\s+namespace\s|namespace\s+\w+\s*\{)/m,
    name: "C++ source",
    mime: "text/x-c++",
  },
  {
    pattern: /^#include\s+<(?:iostream|string|vector|map|cstd\w+)>/m,
    name: "C++ source",
    mime: "text/x-c++",
  },
  { pattern: /^#include\s+["<]/m, name: "C source", mime: "text/x-c" },
  { pattern: /^(?:int|void)\s+main\s*\(/m, name: "C source", mime: "text/x-c" },
  { pattern: /^(?:typedef\s|struct\s+\w+\s*\{)/m, name: "C source", mime: "text/x-c" },
  { pattern: /^(?:all|\.PHONY|\.SUFFIXES):/m, name: "makefile script", mime: "text/x-makefile" },
  { pattern: /^\.(?:TH|SH|\\")/, name: "troff or preprocessor input", mime: "text/troff" },
];

const SHELL = "text/x-shellscript";
/** What is said of scripts, by the name of their interpreter. */
const INTERPRETERS: Readonly<Record<string, readonly [name: string, mime: string]>> = {
  bash: ["Bourne-Again shell script", SHELL],
  sh: ["POSIX shell script", SHELL],
  ksh: ["Korn shell script", SHELL],
  zsh: ["Paul Falstad's zsh script", SHELL],
  csh: ["C shell script", SHELL],
  tcsh: ["Tenex C shell script", SHELL],
  awk: ["awk script", "text/x-awk"],
  gawk: ["GNU awk script", "text/x-gawk"],
  ruby: ["Ruby script", "text/x-ruby"],
  python: ["Python script", "text/x-script.python"],
};

/** Tells what contents are. `bytes` has a character for each byte. */
export function kindOfContents(bytes: string, zone: Zone): FileKind {
  if (bytes === "") return { description: "empty", mime: "inode/x-empty", charset: "binary" };
  const signature = SIGNATURES.find(({ start }) => start.test(bytes));
  if (signature) {
    return { description: signature.describe(bytes, zone), mime: signature.mime, charset: "binary" };
  }
  const encoding = encodingOf(bytes);
  if (!encoding) return { description: "data", mime: "application/octet-stream", charset: "binary" };
  return { ...kindOfText(unicodeText(bytes), encoding), charset: encoding.charset };
}

function kindOfText(text: string, encoding: TextEncoding): Omit<FileKind, "charset"> {
  const own = `${encoding.name} text`;
  const structured = isJson(text)
    ? { description: "JSON text data", mime: "application/json" }
    : isTable(text)
    ? { description: "CSV text", mime: "text/csv" }
    : undefined;
  if (structured) return structured;
  const script = kindOfScript(text, own, encoding.remarks);
  if (script) return script;
  const language = LANGUAGES.find(({ pattern }) => pattern.test(text)) ??
    (HTML_START.test(text) ? { name: "HTML document", mime: "text/html", isExecutable: false } : undefined);
  if (!language) return { description: own + encoding.remarks, mime: "text/plain" };
  const { name, mime, isExecutable } = language;
  if (name === "PEM certificate") return { description: name, mime };
  return { description: `${name}, ${own}${isExecutable ? " executable" : ""}${encoding.remarks}`, mime };
}

function kindOfScript(text: string, own: string, remarks: string): Omit<FileKind, "charset"> | undefined {
  const [, path = "", argument = ""] = /^#![ \t]*(\S+)(?:[ \t]+(.*))?/.exec(text) ?? [];
  if (path === "") return undefined;
  const isEnv = path.endsWith("/env");
  const program = (isEnv ? argument.replace(/^-S\s+/, "").split(/\s/)[0] ?? "" : path).replace(/^.*\//, "");
  const [name, mime] = INTERPRETERS[program.replace(/^(python)[\d.]+$/, "$1")] ?? [];
  if (name !== undefined && mime !== undefined) {
    return { description: `${name}, ${own} executable${remarks}`, mime };
  }
  if (program === "perl") return { description: "Perl script text executable", mime: "text/x-perl" };
  if (program === "node") {
    return { description: `Node.js script executable, ${own}${remarks}`, mime: "application/javascript" };
  }
  const command = [path, argument].filter((word) => word !== "").join(" ");
  return { description: `a ${command} script, ${own} executable${remarks}`, mime: "text/plain" };
}

function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // the text is no JSON
  }
}

/** Lines of a table that are read. */
const TABLE_LINES = 10;

/** True if all lines have the same number of fields between commas, of which there are at least two. */
function isTable(text: string): boolean {
  const lines = text.split("\n").slice(0, -1);
  if (lines.length < 3) return false;
  const counts = lines.slice(0, TABLE_LINES).map((line) => line.replace(/"[^"]*"/g, "").split(",").length);
  return (counts[0] ?? 0) > 1 && counts.every((count) => count === counts[0]);
}
