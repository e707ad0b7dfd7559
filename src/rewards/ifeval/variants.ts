/**
 * Returns the variants of a response for the loose check: all of it, or without its first line, its last
 * line, or both, each also without asterisks. A loose check thus ignores an introduction or a closing
 * remark.
 */
export function looseVariantsOf(response: string): string[] {
  const lines = response.split("\n");
  const cuts = [
    response,
    lines.slice(1).join("\n").trim(),
    lines.slice(0, -1).join("\n").trim(),
    lines.slice(1, -1).join("\n").trim(),
  ];
  return [...cuts, ...cuts.map((cut) => cut.replaceAll("*", ""))];
}
