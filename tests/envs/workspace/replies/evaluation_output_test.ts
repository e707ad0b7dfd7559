import { assertEquals } from "@std/assert";
import { EvaluationOutputParser } from "../../../../src/envs/workspace/replies/evaluation_output.ts";
import { HANG_MS } from "../../../deadline.ts";

const parser = new EvaluationOutputParser();

Deno.test("EvaluationOutputParser parses all values of a message", () => {
  const message = [
    "Your code produced a valid submission artefact at /home/agent/workspace/target.py.",
    "Baseline Score: {'Score': 2.37}",
    "Evaluation Score: {'Score': -1e-05}",
    "(Current Step: 3, Remaining Steps: 7)",
    "(Open file: n/a)",
    "(Current directory: /home/agent/workspace)",
    "bash-$",
  ].join("\n");
  assertEquals(parser.parse(message), {
    submissionArtefactPath: "/home/agent/workspace/target.py",
    openFile: "n/a",
    currentDirectory: "/home/agent/workspace",
    baselineScore: 2.37,
    evaluationScore: -0.00001,
    currentStep: 3,
    remainingSteps: 7,
  });
});

Deno.test("EvaluationOutputParser leaves out missing values and scores that are not numbers", () => {
  assertEquals(parser.parse("nothing"), {});
  assertEquals(parser.parse("Baseline Score: {'Score': 1, 'Time': 2}"), {});
  assertEquals(parser.parse("Baseline Score: {'rmse': 1}"), {});
});

Deno.test("EvaluationOutputParser accepts Python's number formats", () => {
  const score = (text: string) => parser.parse(`Evaluation Score: {'Score': ${text}}`).evaluationScore;
  assertEquals([score("inf"), score("-inf"), score("nan"), score("1e+16"), score(" 3. ")], [
    Infinity,
    -Infinity,
    NaN,
    1e16,
    3,
  ]);
});

Deno.test({
  name: "EvaluationOutputParser reads a line once when its beginning is repeated in it",
  timeout: HANG_MS,
}, () => {
  for (const text of ["valid submission artefact at ", "(Open file: ", "Evaluation Score: {'Score': "]) {
    assertEquals(parser.parse(text.repeat(200_000)), {});
  }
});
