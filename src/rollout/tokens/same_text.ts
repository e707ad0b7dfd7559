/**
 * True when two texts are the same but for what tokenizers may do to one: compose letters and their accents, write
 * what is no whole character as U+FFFD, and, as those of Llama 2 and Mistral do, put a space at the start of all and
 * behind a special token.
 */
export function sameText(one: string, other: string, specialTokens: readonly string[]): boolean {
  if (one === other || comparable(one) === comparable(other)) return true;
  return unspaced(comparable(one), specialTokens) === unspaced(comparable(other), specialTokens);
}

/** A text as {@linkcode sameText} compares it. */
export function comparable(text: string): string {
  return text.toWellFormed().normalize("NFC");
}

/** A text without the spaces at its start and behind its special tokens. */
function unspaced(text: string, specialTokens: readonly string[]): string {
  const places = ["^", ...specialTokens.filter((token) => token !== "").map(escaped)];
  return text.replace(new RegExp(`(${places.join("|")}) +`, "g"), "$1");
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
