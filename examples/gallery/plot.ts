// deno-lint-ignore-file no-console -- an example shows what it does
/** A program shows a plot; the host gets it as an image and saves it. */
import { join } from "node:path";
import { loadProfile, Sandbox } from "@paddock/paddock/sandbox";

const program = `
from IPython.display import SVG
rewards = [0.12, 0.2, 0.35, 0.5, 0.62, 0.71, 0.8, 0.84, 0.88, 0.9]
points = " ".join(f"{20 + 30 * i},{120 - 100 * r:.0f}" for i, r in enumerate(rewards))
SVG(f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 310 130">
  <title>Mean reward by update</title>
  <path d="M20 10 V120 H300" fill="none" stroke="gray"/>
  <polyline points="{points}" fill="none" stroke="steelblue" stroke-width="2"/>
</svg>''')
`;
await using sandbox = await Sandbox.start({ profile: await loadProfile("python") });
await using session = await sandbox.openSession();
const { display = [] } = await session.exec(program);
for (const shown of display) {
  const svg = String(shown["image/svg+xml"]);
  const path = join(await Deno.makeTempDir(), "plot.svg");
  await Deno.writeTextFile(path, svg); // it may have scripts: show it in a frame without permissions only
  console.log(Object.keys(shown).join(), `${svg.length} characters saved to plot.svg`);
  console.log(svg.split("\n").find((line) => line.includes("polyline"))?.trim());
}
