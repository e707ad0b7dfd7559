/** A grader that runs the completion as code. */
const AsyncFunction = (async () => {}).constructor as new (...names: string[]) => (
  ...values: unknown[]
) => Promise<unknown>;
let calls = 0;

export default {
  name: "hostile",
  grade: async (input: { completion: string }) => {
    calls++;
    const wait = () => new Promise((resolve) => setTimeout(resolve, 60_000));
    return await new AsyncFunction("input", "calls", "wait", input.completion)(input, calls, wait);
  },
};
