import type { Comparison } from "./compare_program.ts";
import { type Cause, UNCOUNTED } from "./difference.ts";

/** True if the program differs for a cause that counts. */
export function isLost({ cause }: Comparison): boolean {
  return cause !== undefined && !isUncounted(cause);
}

/** Formats a row for each corpus and one for all: programs, same, share of those that count, and the causes. */
export function formatTable(comparisons: readonly Comparison[]): string {
  const corpora = Map.groupBy(comparisons, ({ corpus }) => corpus);
  const rows = [...corpora].map(([corpus, group]) => rowOf(corpus, group));
  if (corpora.size > 1) rows.push(rowOf("all", comparisons));
  return ["corpus                programs    same   share  causes", ...rows, ""].join("\n");
}

function rowOf(corpus: string, comparisons: readonly Comparison[]): string {
  const same = comparisons.filter(({ cause }) => cause === undefined).length;
  const lost = comparisons.filter(isLost).length;
  const share = same + lost === 0 ? "-" : `${(100 * same / (same + lost)).toFixed(2)} %`;
  const causes = new Map<Cause, number>();
  for (const { cause } of comparisons) if (cause) causes.set(cause, (causes.get(cause) ?? 0) + 1);
  const list = [...causes].map(([cause, count]) => `${cause} ${count}`).join(", ");
  const cells = [`${comparisons.length}`.padStart(9), `${same}`.padStart(8), share.padStart(10)];
  return `${corpus.padEnd(21)}${cells.join("")}  ${list}`.trimEnd();
}

function isUncounted(cause: Cause): boolean {
  return UNCOUNTED.some((uncounted) => uncounted === cause);
}
