/** Edge server of graders with a token, and with custom graders beside the built-in ones. */
import { type EdgeApp, edgeApp } from "@paddock/paddock/edge";
import { judge, numberMatch, patternMatch, rubric, scriptedPolicy } from "@paddock/paddock";

const polite = patternMatch({ pattern: /\b(please|thank you)\b/i });
// A judge needs a model: replace this scripted policy by openaiPolicy({ url, model }).
const kind = judge(scriptedPolicy({ script: () => "It is friendly.\nScore: 8" }), {
  criteria: "It is kind.",
});

const app: EdgeApp = edgeApp({
  token: "a-token-for-the-example",
  graders: {
    polite,
    kind,
    right_and_polite: rubric([{ grader: numberMatch(), weight: 0.8 }, { grader: polite, weight: 0.2 }]),
  },
});
export default app;
