import { assertEquals, assertStringIncludes } from "@std/assert";
import { type FC, jsx } from "hono/jsx";
import { HistogramPlot, RewardCurve, TaskCurve, TurnTimes } from "../../../src/viewer/pages/plots.tsx";

function render<Props extends object>(component: FC<Props>, props: Props): string {
  return String(jsx(component as FC, props));
}

/** Returns the values of an attribute, in the order of the elements. */
function valuesOf(html: string, element: string, name: string): number[] {
  return [...html.matchAll(new RegExp(`<${element} class="[^"]*"[^>]*? ${name}="([^"]*)"`, "g"))]
    .map(([, value]) => Number(value));
}

Deno.test("RewardCurve puts higher rewards higher, and names the first and the last mean", () => {
  const points = [{ first: 1, last: 10, count: 9, mean: 0.25 }, {
    first: 11,
    last: 20,
    count: 10,
    mean: 0.75,
  }];
  const html = render(RewardCurve, { points });
  const [first = 0, second = 0] = valuesOf(html, "circle", "cy");
  assertEquals(first > second, true);
  assertStringIncludes(html, "mean reward from 0.25 in the first episodes to 0.75 in the last");
  assertStringIncludes(html, '<td class="number">11–20</td>');
});

Deno.test("RewardCurve places one point, huge rewards and no point without a NaN", () => {
  const huge = [{ first: 1, last: 1, count: 1, mean: -1.7e308 }, {
    first: 2,
    last: 2,
    count: 1,
    mean: 1.7e308,
  }];
  for (const points of [[], huge.slice(0, 1), huge]) {
    const html = render(RewardCurve, { points });
    assertEquals(
      /NaN|Infinity/.test(html.replaceAll(/<t(?:itle|d|ext)[^]*?<\/t(?:itle|d|ext)>/g, "")),
      false,
    );
  }
});

Deno.test("HistogramPlot draws a bar for each range, and says where the last is open", () => {
  const histogram = { low: 0, high: 9, width: 1, counts: [1, 4, 2] };
  const html = render(HistogramPlot, { title: "Turns", histogram });
  const heights = valuesOf(html, "rect", "height");
  assertEquals([heights.length, heights[1] === 2 * (heights[2] ?? 0)], [3, true]);
  assertStringIncludes(html, "Turns: most often 1 to below 2");
  assertStringIncludes(html, "≥ 2");
  assertStringIncludes(html, "2 to 9: 2");
  assertStringIncludes(
    render(HistogramPlot, { title: "Turns", histogram: { ...histogram, counts: [0] } }),
    "no values",
  );
});

Deno.test("TaskCurve has at most a hundred bars, from the hardest task to the easiest", () => {
  const html = render(TaskCurve, { means: Float64Array.from({ length: 250 }, (_, at) => at / 249) });
  const heights = valuesOf(html, "rect", "height");
  assertEquals([heights.length, (heights[0] ?? 0) < (heights[99] ?? 0)], [100, true]);
  assertStringIncludes(html, "from 0 for the hardest of 250 tasks to 1 for the easiest");
  assertEquals(valuesOf(render(TaskCurve, { means: new Float64Array() }), "rect", "height"), []);
});

Deno.test("TurnTimes stacks the env on the policy, and names the longest turn", () => {
  const turns = [{ turn: 1, policyMs: 30, envMs: 10, cells: ["a"] }, {
    turn: 2,
    policyMs: 20,
    envMs: -5,
    cells: ["b"],
  }];
  const html = render(TurnTimes, { turns, columns: ["Tool"], hrefOf: (turn: number) => `#turn-${turn}` });
  const [policy = 0, env = 0, second = 0, none] = valuesOf(html, "rect", "height");
  assertEquals([policy > second, second > env, none], [true, true, 0]);
  assertStringIncludes(html, "the longest is turn 1 with 40 ms");
  assertStringIncludes(html, '<a href="#turn-2">Turn 2</a>');
});
