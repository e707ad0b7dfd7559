/** A policy that runs the last message as code. */
const AsyncFunction = (async () => {}).constructor as new (...names: string[]) => (
  ...values: unknown[]
) => Promise<unknown>;

export default {
  reply: async (input: { messages: { content: string }[] }) => {
    return await new AsyncFunction("input", input.messages.at(-1)?.content ?? "")(input);
  },
};
