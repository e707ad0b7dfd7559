const DOUBLED =
  /(?<!\\)\\\\(?=(?:boxed|fbox|[dt]?frac|left|right|sqrt|text|mathrm|mathbb|pi|infty|cdot|times|leq?|geq?|cup|pm|begin|end|sin|cos|tan|ln|log)(?![a-zA-Z]))/g;

/** Returns a text whose commands have two backslashes, as `\\\\frac` of text escaped twice, with a single backslash. */
export function singleBackslashes(text: string): string {
  const single = text.replace(DOUBLED, "\\");
  return single === text ? text : single.replaceAll("\\\\\\\\", "\\\\");
}
