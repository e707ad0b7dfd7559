import { assertEquals, assertThrows } from "@std/assert";
import { toScore } from "../../src/rewards/grader.ts";
import { findLastBoxed } from "../../src/rewards/boxes.ts";
import { math } from "../../src/rewards/math.ts";
import { isSameAnswer } from "../../src/rewards/math/same_answer.ts";
import { replyContext } from "./replies.ts";

function score(reply: string, answer?: string) {
  const given = math().grade(replyContext(reply, answer));
  if (given instanceof Promise) throw new Error("a grader of answers need not wait");
  return toScore(given).score;
}

Deno.test("math() scores 1, 0.1 and 0", () => {
  const truth = "Half of it is $\\boxed{1}$, and all of it is $\\boxed{42}$.";
  assertEquals(score("<think>hm</think><answer>42</answer>", truth), 1);
  assertEquals(score("<answer>$\\boxed{42}$</answer>", truth), 1);
  assertEquals(score("<answer>41</answer>", truth), 0.1);
  assertEquals(score("<answer> </answer>", truth), 0);
  assertEquals(score("I do not know", truth), 0);
  assertEquals(score("<answer>42</answer>", "42"), 1);
});

Deno.test("math() grades the last box of a reply without an answer block", () => {
  assertEquals(score("First \\boxed{1}, so \\boxed{\\frac{84}{2}}.", "42"), 1);
  assertEquals(score("First \\boxed{42}, so \\boxed{1}.", "42"), 0);
  assertEquals(score("<think>\\boxed{42}</think> none", "42"), 0);
  assertEquals(score("<answer>1</answer>\\boxed{42}", "42"), 0.1);
});

Deno.test("math() grades the stated answer of a reply without block or box", () => {
  assertEquals(score("The answer is $\\frac{84}{2}$.", "42"), 1);
  assertEquals(score("The answer is 41? No, the answer is: 42\nI checked.", "42"), 1);
  assertEquals(score("The answer is 42, or 41", "42"), 0);
  assertEquals(score("The final answer is **42**.", "42"), 1);
  assertEquals(score("**The answer is: 42**", "42"), 1);
  assertEquals(score("**The answer is:** $42$", "42"), 1);
  assertEquals(score("The answer is ***42***, as you see", "42"), 1);
  assertEquals(score("The answer is **41** or 42", "42"), 0);
  assertEquals(score("<answer>**42**</answer>", "42"), 1);
  assertEquals(score("The answer is 6*7", "42"), 1);
  assertEquals(score("The answer is", "42"), 0);
  assertEquals(score("The answer is 42. \\boxed{41}", "42"), 0);
});

Deno.test("math() returns the parts of the score and supports other rewards", () => {
  assertEquals(
    math({ correctReward: 2, formatReward: 0.5 }).grade(replyContext("<answer>1</answer>", "42")),
    {
      score: 0.5,
      parts: { reward_answer: 1, reward_think: 0, reward_right: 0.5, success: 0 },
    },
  );
  assertThrows(() => math({ formatReward: NaN }), RangeError, "'formatReward' must be a finite number");
});

Deno.test("math() returns null for a task without an answer", () => {
  assertEquals(score("<answer>42</answer>"), null);
  assertEquals(score("<answer>42</answer>", " "), null);
  assertEquals(score("<answer></answer>", "\\boxed{}"), null);
  assertEquals(score("<answer>42</answer>", "It is \\boxed{42"), null);
  assertEquals(score("<answer>42</answer>", "It is $\\boxed$."), null);
  assertEquals(score("<answer>2</answer>", "It is $\\boxed 2$."), 1);
});

Deno.test("findLastBoxed() finds the last balanced box", () => {
  const boxes: readonly (readonly [string, string | undefined])[] = [
    ["\\boxed{42}", "42"],
    ["so $\\boxed{\\frac{1}{2}}$.", "\\frac{1}{2}"],
    ["\\boxed{1} and \\fbox{ 2 }", "2"],
    ["\\boxed{\\{1,2\\}}", "\\{1,2\\}"],
    ["\\boxed {x}", "x"],
    ["\\boxed{\\boxed{5}}", "5"],
    ["\\boxed{1} and \\boxed{2", "1"],
    ["{ \\boxed{1}", "1"],
    ["} \\boxed{1}", "1"],
    ["\\boxed{\\left(\\frac{a}{b}, c\\right)}", "\\left(\\frac{a}{b}, c\\right)"],
    ["It is $\\boxed 2$.", "2"],
    ["It is $\\boxed2$, or $\\boxed x$", "x"],
    ["\\boxed{1} and \\boxed 2 of 3", "2"],
    ["\\boxed 2 and \\boxed{1}", "1"],
    ["\\boxed\\frac{1}{2}$", "\\frac{1}{2}"],
    ["\\boxed\\boxed 5", "5"],
    ["{\\boxed 2}", "2"],
    ["\\boxedx 2", undefined],
    ["\\boxed{5}, in \\boxed as you asked", "5"],
    ["no box", undefined],
    ["\\boxed", undefined],
    ["\\boxed{\\}", undefined],
  ];
  for (const [text, inside] of boxes) assertEquals(findLastBoxed(text), inside, text);
});

const SAME: readonly (readonly [string, string])[] = [
  ["42", "42"],
  ["\\frac{1}{2}", "\\frac{1}{2}"],
  ["\\frac12", "\\dfrac{1}{2}"],
  ["1/2", "\\tfrac{1}{2}"],
  ["0.5", "\\frac{1}{2}"],
  [".5", "0.50"],
  ["-\\frac{3}{4}", "\\frac{-3}{4}"],
  ["\\frac{2}{4}", "\\frac{1}{2}"],
  ["3\\frac{1}{2}", "\\frac{7}{2}"],
  ["3 1/2", "3.5"],
  ["-1\\frac12", "-1.5"],
  ["1,234", "1234"],
  ["10{,}000", "10,000"],
  ["1\\,000", "1000"],
  ["$120", "120"],
  ["\\$18.00", "18"],
  ["50\\%", "50"],
  ["50%", "\\frac{1}{2}"],
  ["0.5", "50\\%"],
  ["90^\\circ", "90"],
  ["90^{\\circ}", "90°"],
  ["45 degrees", "45"],
  ["5\\text{ cm}", "5"],
  ["5 \\text{ cm}^2", "5"],
  ["5 cm", "5"],
  ["12 square units", "12"],
  ["\\text{Evelyn}", "Evelyn"],
  ["evelyn", "\\text{Evelyn}"],
  ["\\text{(A)}", "A"],
  ["\\textbf{(C)}", "(C)"],
  ["x=5", "5"],
  ["x = 5", "x=5"],
  ["f(x) = x^2", "x^{2}"],
  ["2\\sqrt{2}", "\\sqrt{8}"],
  ["\\frac{\\sqrt{2}}{2}", "\\frac{1}{\\sqrt2}"],
  ["\\sqrt[3]{27}", "3"],
  ["sqrt(16)", "4"],
  ["2\\pi", "\\pi \\cdot 2"],
  ["2π", "2\\pi"],
  ["2 pi", "2\\pi"],
  ["x(x+1)", "x^2+x"],
  ["(x-1)(x+1)", "x^{2} - 1"],
  ["\\frac{x+1}{2}", "\\frac{x}{2} + \\frac12"],
  ["2xy", "2yx"],
  ["3\\times 10^4", "30000"],
  ["3 \\cdot 10^{-2}", "0.03"],
  ["2^{10}", "1024"],
  ["2^-1", "0.5"],
  ["5!", "120"],
  ["\\binom{5}{2}", "10"],
  ["|-3|", "3"],
  ["-x^2", "-(x^2)"],
  ["\\log_2 8", "3"],
  ["\\ln e", "1"],
  ["\\sin^2 x + \\cos^2 x", "1"],
  ["\\left(1, 2\\right)", "(1,2)"],
  ["(\\frac12, 3)", "(0.5, 3)"],
  ["\\{1, 2, 3\\}", "\\{3,2,1\\}"],
  ["1, 2", "2,1"],
  ["1 \\text{ or } 2", "2, 1"],
  ["x=1, 2", "1,2"],
  ["2 \\pm \\sqrt{3}", "2+\\sqrt3, 2-\\sqrt3"],
  ["(-\\infty, 3) \\cup (5, \\infty)", "(5,\\infty)\\cup(-\\infty,3)"],
  ["x \\in [0, 1]", "[0,1]"],
  [
    "\\begin{pmatrix} 1 & 2 \\\\ 3 & \\frac{1}{2} \\end{pmatrix}",
    "\\begin{pmatrix}1&2\\\\3&0.5\\end{pmatrix}",
  ],
  ["10_{2}", "10_2"],
  ["y = 2x + 1", "y=2x+1"],
  ["x < 3", "x<3"],
  ["\\sqrt{-8+8}", "0"],
  ["1000000000000000000001", "10^{21}+1"],
  ["\\frac{1}{3}", "1/3."],
  ["\\alpha + 1", "1+\\alpha"],
  ["0.\\overline{3}", "\\frac{1}{3}"],
  ["1.1\\overline{6}", "7/6"],
  ["-1 \\leq x \\leq 2", "-1\\le x\\le 2"],
  ["x >= 3", "x \\ge 3"],
  ["x+y=3", "3 = y + x"],
  ["2x + 3y - 6 = 0", "y = 2 - \\frac{2x}{3}"],
  ["a = 2, b = 3", "b=3, a=2"],
  ["x = 1 \\text{ or } x = -1", "x=-1,1"],
  ["(1,2) \\text{ and } (3,4)", "(3,4), (1,2)"],
  ["\\$32,\\!348", "32348"],
  ["70 \\text{ and } 110", "110, 70"],
  ["1+2i", "2i+1"],
  ["5cm", "5"],
  ["60 miles per hour", "60"],
  ["12 cm^2", "12"],
  ["\\mathbf{i}+2\\mathbf{j}", "2j + i"],
  ["2\\operatorname{sin} x", "2\\sin x"],
  ["2 sin x", "\\sin(x) \\cdot 2"],
  ["(x,y) = (1,2)", "(1, 2)"],
  ["\\theta = 30^\\circ", "30"],
  ["x_1 = 5", "5"],
  ["\\[ 42 \\]", "\\(42\\)"],
  ["e^{2x}", "(e^x)^2"],
  ["2^{5k}", "32^k"],
  ["x^{2n}", "(x^n)^2"],
  ["x^n", "x^{n+0}"],
  ["a^{m+n}", "a^m a^n"],
  ["\\cosh x", "\\frac{e^x+e^{-x}}{2}"],
  ["\\sqrt{x-5}+1", "1+\\sqrt{x-5}"],
  ["\\sqrt{x-120}+1", "1+\\sqrt{x-120}"],
  ["\\ln(\\ln x)+1", "1+\\ln(\\ln x)"],
  ["\\ln x^2", "2\\ln x"],
  ["\\arcsin x+\\arccos x", "\\frac{\\pi}{2}"],
  ["\\sqrt[3]{x^3}", "x"],
  ["\\sqrt{x^2}", "|x|"],
  ["\\binom{n}{2}", "\\frac{n(n-1)}{2}"],
  ["n!", "n(n-1)!"],
  ["(-1)^n+1", "1+(-1)^{3n}"],
  ["x^{50}-1", "(x^{25}-1)(x^{25}+1)"],
  ["\\sqrt[3]{2+\\sqrt5}+\\sqrt[3]{2-\\sqrt5}", "1"],
  ["(2+\\sqrt3)^{50}(2-\\sqrt3)^{50}", "1"],
  ["\\sin\\pi", "0"],
  ["3.141592653589793", "\\pi"],
  ["3x-4y=0", "8y=6x"],
  ["xy=2z^2", "z^2=\\frac{xy}{2}"],
  ["x^2+y^2-2x=0", "(x-1)^2+y^2=1"],
];

for (const [given, truth] of SAME) {
  Deno.test(`isSameAnswer() accepts ${given} for ${truth}`, () => {
    assertEquals([isSameAnswer(given, truth), isSameAnswer(truth, given)], [true, true]);
  });
}

const DIFFERENT: readonly (readonly [string, string])[] = [
  ["41", "42"],
  ["-42", "42"],
  ["", "42"],
  ["0.33", "\\frac{1}{3}"],
  ["3.14", "\\pi"],
  ["10000000001", "10000000000"],
  ["2^{100}", "2^{100}+1"],
  ["x", "y"],
  ["x", "X"],
  ["x^2", "x^3"],
  ["x+1", "x-1"],
  ["(1,2)", "(2,1)"],
  ["(1,2)", "[1,2]"],
  ["(1,2]", "[1,2)"],
  ["1,2", "1,2,3"],
  ["1,1", "1,2"],
  ["\\{1,2\\}", "(1,2)"],
  ["odd", "even"],
  ["never", "nerve"],
  ["no", "yes"],
  ["\\text{Evelyn}", "\\text{Carla}"],
  ["1/0", "2/0"],
  ["\\infty", "-\\infty"],
  ["x<3", "x\\le 3"],
  ["10_2", "10_3"],
  ["\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix}2\\\\1\\end{pmatrix}"],
  ["\\begin{pmatrix}1&2\\end{pmatrix}", "\\begin{pmatrix}1\\\\2\\end{pmatrix}"],
  ["5 \\text{ or } 6", "5"],
  ["2 3", "6"],
  ["12", "1,2"],
  ["e", "2.718"],
  ["constructor", "__proto__"],
  ["42 \\text{ or } 41", "42"],
  ["\\frac{1}", "1"],
  ["a = 2, b = 3", "a = 3, b = 2"],
  ["x+y=3", "x+y=4"],
  ["x=x", "y=y"],
  ["2xy", "2ab"],
  ["2xy", "2"],
  ["6abc", "6"],
  ["\\sqrt{2}xy", "\\sqrt{2}"],
  ["2\\alpha", "2\\beta"],
  ["2\\alpha", "2"],
  ["2\\sin x", "2"],
  ["2 sin x", "2"],
  ["2\\sin x", "2\\cos x"],
  ["\\mathbf{i}", "\\mathbf{j}"],
  ["\\mathbb{R}", "\\mathbb{Q}"],
  ["x \\le 3", "x \\ge 3"],
  ["0.\\overline{3}", "0.3"],
  ["y=3x", "3y=2x+y"],
  ["a=0", "3x-4y=0"],
  ["q=0", "3x-4y=0"],
  ["a=b", "x+y+z=0"],
  ["a^2=0", "x^2=y^2+z^2"],
  ["x^2+y^2=z^2", "x^2+y^2=25z^2"],
  ["4x+3y=0", "3x+4y=0"],
  ["xy=z^2", "xy=2z^2"],
  ["y=-x", "y+x=2x"],
  ["1=2", "5=7"],
  ["97/98", "\\frac{a}{b}"],
  ["\\frac{241x}{240}", "\\frac{x+y}{2}"],
  ["2^k", "2^k-1"],
  ["2^m", "2^m-1"],
  ["2^t+1", "2^t"],
  ["n^k+1", "n^k"],
  ["1", "1-\\frac{1}{2^k}"],
  ["0", "\\frac{1}{2^k}"],
  ["0", "e^{-x}"],
  ["0", "e^{-30}"],
  ["0", "10^{-999}"],
  ["e^x", "e^x+x"],
  ["\\frac{e^x}{2}", "\\cosh x"],
  ["e^{25}+1", "e^{25}"],
  ["x^{100}", "0"],
  ["x-2", "|x-2|"],
  ["x", "\\sqrt{x^2}"],
  ["xy", "|xy|"],
  ["(-1)^n", "1"],
  ["n!", "(n+1)!"],
  ["10^{20}\\pi-10^{20}\\pi", "7"],
  ["x+10^{20}\\pi-10^{20}\\pi", "y"],
  ["10^9\\pi-10^9\\pi", "10^{-8}"],
  ["\\tan\\frac{\\pi}{2}", "10^{16}"],
  ["\\sqrt{-1-x^2}", "\\sqrt{-2-x^2}"],
];

for (const [given, truth] of DIFFERENT) {
  Deno.test(`isSameAnswer() refuses '${given}' for ${truth}`, () => {
    assertEquals(isSameAnswer(given, truth), false);
  });
}

/** Answers that are made to take long. Each takes milliseconds; without a bound it takes minutes, or never ends. */
const BOMBS = [
  "9^9^9^9",
  "9^{999}^{999}",
  "9".repeat(1_900),
  "(".repeat(1_900),
  "\\frac{".repeat(300),
  "x".repeat(1_900),
  "1".repeat(900) + "\\frac",
  "170!^{170!}",
  "{".repeat(50) + "1" + "}".repeat(50),
  "1,".repeat(900),
  "\\pm 1".repeat(300),
  "\\{".repeat(300) + "1" + "\\}".repeat(300),
  "\\text{".repeat(300),
  "1 ".repeat(900),
  "-".repeat(900) + "1",
  "((((x^{999}+1)^{999}+1)^{999}+1)^{999}+1)^{999}",
  "|".repeat(900),
  "(1,".repeat(400) + ")".repeat(400),
  "\\boxed{".repeat(100_000),
  "\\boxed".repeat(100_000),
  "\\boxed a{".repeat(100_000),
  `${"\\boxed ".repeat(100_000)}${"a".repeat(100_000)}`,
  `**${"*".repeat(100_000)}1`,
  "1/0+(" + "(x/7)^{150}+".repeat(75) + "1)",
  "x/0+(" + "(x/7)^{300}y^{300}+".repeat(45) + "1)",
  "\\boxed{" + "{".repeat(100_000) + "}".repeat(100_001),
  `5 ${"a".repeat(1_900)}`,
  `5 ${"a ".repeat(900)}!`,
  "1a".repeat(900),
  "½".repeat(1_900),
  `x${"²".repeat(1_900)}`,
  "٤".repeat(1_900),
  "less than ".repeat(190),
  "5 million ".repeat(190),
  "\\text{(C)} ".repeat(150),
  "(C) ".repeat(450),
  "1:".repeat(900) + "10",
  "1 000 ".repeat(300),
  "\\sin ".repeat(380),
  "\\sin^{-1} ".repeat(170),
  "\\sin x ".repeat(270),
  "f^{-1}(".repeat(270),
  "x=1,y=2,".repeat(230),
  "a+".repeat(900) + "b=5",
  "\\\\frac".repeat(300),
  "٤".repeat(300_000),
  "½".repeat(300_000),
  "\\\\boxed".repeat(60_000),
  `${"_".repeat(1_900)})=5`,
];

for (const [index, bomb] of BOMBS.entries()) {
  const name = `math() ends on answer ${index + 1} that is made to take long: ${bomb.slice(0, 20)}…`;
  Deno.test({ name, timeout: 60_000 }, () => {
    assertEquals(score(`<answer>${bomb}</answer>`, "\\frac{1}{2}"), 0.1);
    score("<answer>\\frac{1}{2}</answer>", bomb);
  });
}

Deno.test("math() gives no score for a task whose answer is too long", () => {
  for (const sign of [".", "{", ";", "1,", "a{"]) {
    assertEquals(math().grade(replyContext("<answer>1</answer>", sign.repeat(1_000_000))), {
      score: null,
      reason: "the task's answer has more than 2000 characters",
    });
  }
});
