import { makeMLGym } from "./src/rollout/make_mlgym.ts";
import { replyAction } from "./src/envs/env.ts";
const t0 = performance.now();
await using env = await makeMLGym({
  task: "examples/workspace/prisoners_dilemma",
  onBuild: () => console.log("build"),
});
let s: any = await env.reset({ id: "x", query: "" });
console.log(s.history.prompt.toChats(), performance.now() - t0);
for (
  const c of [
    "ls -la; cat strategy.py",
    "pwd",
    "sed -i 's/return .*/return 1/' strategy.py && cat strategy.py",
    `echo '<<VALIDATION||x||VALIDATION>>'`,
    `echo '<<SUBMISSION||x||SUBMISSION>>'`,
  ]
) {
  const t = performance.now();
  s = await env.step(replyAction("Hm\n```\n" + c + "\n```"));
  console.log(
    s.history.prompt.last.content,
    s.reward,
    s.terminated,
    s.workspace.evaluation,
    performance.now() - t,
  );
}
