/**
 * The forms of a response of which any may follow an instruction in the loose reading: all of it, or without its
 * first line, its last, or both, each also without asterisks. It may have begun or ended with a word of its own.
 */
export function looseVariants(response: string): string[] {
  const lines = response.split("\n");
  const cuts = [
    response,
    lines.slice(1).join("\n").trim(),
    lines.slice(0, -1).join("\n").trim(),
    lines.slice(1, -1).join("\n").trim(),
  ];
  return [...cuts, ...cuts.map((cut) => cut.replaceAll("*", ""))];
}
