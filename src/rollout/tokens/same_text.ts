/**
 * True if two texts are equal except for changes that tokenizers make: composing letters and accents, replacing
 * incomplete characters by U+FFFD, and, as those of Llama 2 and Mistral do, adding a space at the start and after
 * special tokens.
 */
export function textsEquivalent(one: string, other: string, specialTokens: readonly string[]): boolean {
  if (one === other || normalizeText(one) === normalizeText(other)) return true;
  return removeSpaces(normalizeText(one), specialTokens) ===
    removeSpaces(normalizeText(other), specialTokens);
}

/** Normalizes a text for {@linkcode textsEquivalent}. */
export function normalizeText(text: string): string {
  return text.toWellFormed().normalize("NFC");
}

/** Removes the spaces at the start of a text and after its special tokens. */
function removeSpaces(text: string, specialTokens: readonly string[]): string {
  const places = ["^", ...specialTokens.filter((token) => token !== "").map((token) => RegExp.escape(token))];
  return text.replace(new RegExp(`(${places.join("|")}) +`, "g"), "$1");
}
