/** A tool as a model, or a chat template, is told of it. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** The tool in the words of OpenAI's API, which chat templates expect. */
export function openaiTool({ name, description, parameters }: ToolSpec): object {
  return { type: "function", function: { name, description, parameters } };
}
