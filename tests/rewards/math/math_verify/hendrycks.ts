/**
 * The comparison of Hendrycks' MATH (`is_equiv`): answers are equal if their texts are after some changes. It is a
 * second reference for answers that math-verify refuses.
 */
export function isEquivalent(first: string, second: string): boolean {
  return normalize(first) === normalize(second);
}

const REMOVED = ["\\!", "\\left", "\\right", "^{\\circ}", "^\\circ", "\\$", "\\%", "%"];

function normalize(answer: string): string {
  let text = answer.replaceAll("\n", "").replaceAll("\\\\", "\\").replaceAll("tfrac", "frac").replaceAll(
    "dfrac",
    "frac",
  );
  for (const mark of REMOVED) text = text.replaceAll(mark, "");
  text = withoutUnits(text).replaceAll(" .", " 0.").replaceAll("{.", "{0.");
  if (text.startsWith(".")) text = `0${text}`;
  const sides = text.split("=");
  if (sides.length === 2 && (sides[0] ?? "").length <= 2) text = sides[1] ?? "";
  text = withBraces(text.replace(/\\sqrt(?!\{)(.)/g, "\\sqrt{$1}").replaceAll(" ", ""));
  if (text === "0.5") text = "\\frac{1}{2}";
  return text.replace(/^(-?\d+)\/(-?\d+)$/, "\\frac{$1}{$2}");
}

/** Removes the last `\text{ …}`, which holds a unit. */
function withoutUnits(text: string): string {
  const parts = text.split("\\text{ ");
  return parts.length === 2 ? parts[0] ?? "" : text;
}

/** Writes `\frac12`, `\frac1{2}` and the like with braces. */
function withBraces(text: string): string {
  const [start = "", ...parts] = text.split("\\frac");
  return start + parts.map((part) => {
    if (part.startsWith("{") || part.length < 2) return `\\frac${part}`;
    const [over = "", under = ""] = part;
    return under === "{" ? `\\frac{${over}}${part.slice(1)}` : `\\frac{${over}}{${under}}${part.slice(2)}`;
  }).join("");
}
