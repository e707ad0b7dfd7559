/**
 * True when two texts are the same but for what tokenizers may do to one: compose letters and their accents, and
 * write what is no whole character as U+FFFD.
 */
export function sameText(one: string, other: string): boolean {
  return one === other || comparable(one) === comparable(other);
}

/** A text as {@linkcode sameText} compares it. */
export function comparable(text: string): string {
  return text.toWellFormed().normalize("NFC");
}
