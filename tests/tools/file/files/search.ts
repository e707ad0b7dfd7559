/** A typical tool file. */
export const description = "Searches a list of words.";

export const parameters = {
  type: "object",
  properties: { query: { type: "string" } },
  required: ["query"],
};

const words = ["sand", "box", "sandbox"];

export function run({ query }: { query: string }): { found: string[] } {
  // deno-lint-ignore no-console
  console.log("searching for", query);
  return { found: words.filter((word) => word.includes(query)) };
}
