/** Tool in its own file. It runs in a process without permissions. */
export const description = "Counts the words of a text.";

export const parameters = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
};

export function run({ text }: { text: string }): { words: number } {
  return { words: text.split(/\s+/).filter((word) => word !== "").length };
}
