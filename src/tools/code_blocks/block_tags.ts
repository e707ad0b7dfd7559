/**
 * What a block's tag says about the content: a Python program, a transcript of an interactive session, nothing (no
 * tag), or another language.
 */
export type BlockLanguage = "python" | "transcript" | "unlabeled" | "other";

/** Maximum length of a tag in a record, in characters. */
const MAX_TAG = 32;

/** First word of an info string: `python` of `{.python .numberLines}`, `python:main.py` and `python{1,3}`. */
const WORD = /^[ \t]*(?:\{[ \t]*)?\.?([\w+#./-]*)/;
/** An info string that is a tag and nothing else. */
const ALONE = /^[ \t]*(?:\{[ \t]*\.?[\w+#./-]+[ \t]*\}|[\w+#./-]+)[ \t]*$/;
const PYTHON = /^(?:(?:i?python|py)(?:3(?:\.\d{1,2}){0,2})?|tool_code)$/;
const TRANSCRIPT = /^(?:pycon3?|doctest|i?python3?[-_]?(?:repl|console|shell))$/;

/** Tags of other languages that open a block also behind text or glued to the closing fence of another block. */
const OTHERS: ReadonlySet<string> = new Set(
  ("bash c c# c++ clojure cmake console cpp cs csharp css csv dart diff dockerfile elixir erlang fortran go groovy " +
    "haskell html ini java javascript js json json5 jsonc jsonl julia jsx kotlin latex less lisp log lua makefile " +
    "markdown math matlab md mermaid nim objective-c ocaml output pascal perl php plain plaintext powershell prolog " +
    "protobuf python2 r ruby rust sass scala scheme scss sh shell shell-session sql stdout svg swift tex text toml " +
    "tool_output ts tsx txt typescript vb verilog vhdl vim xml yaml yml zig zsh").split(" "),
);

/** A tag and the meaning of the tag. */
export interface BlockTag {
  /** First word of the info string as written, at most 32 characters; empty if there is none. */
  readonly tag: string;
  readonly language: BlockLanguage;
}

/** Returns the tag of an info string, the text behind an opening fence. */
export function tagOf(info: string): BlockTag {
  const tag = WORD.exec(info)?.[1] ?? "";
  if (tag === "") return { tag: "", language: info.trim() === "" ? "unlabeled" : "other" };
  return { tag: tag.slice(0, MAX_TAG), language: languageOf(tag) };
}

function languageOf(tag: string): BlockLanguage {
  if (tag.length > MAX_TAG) return "other";
  const name = tag.toLowerCase();
  if (PYTHON.test(name)) return "python";
  return TRANSCRIPT.test(name) ? "transcript" : "other";
}

/** Returns true if an info string is the tag of a known language and nothing else. */
export function isKnownTagAlone(info: string): boolean {
  if (info.length > 2 * MAX_TAG || !ALONE.test(info)) return false;
  const { tag, language } = tagOf(info);
  return language !== "other" || OTHERS.has(tag.toLowerCase());
}
