import { assertEquals, assertStringIncludes } from "@std/assert";
import { familyTasks } from "../../../mod/envs.ts";
import { FAMILY_NAMES } from "../../../src/families/names.ts";
import { family } from "../../../src/rewards/family.ts";
import { type Served, served } from "../served.ts";

const graders = new Map([["family", () => family()]]);

async function createEnv(server: Served, config: object): Promise<string> {
  const { status, body } = await server.send("POST", "/v1/envs", config);
  assertEquals(status, 201, JSON.stringify(body));
  return `/v1/envs/${body.id}`;
}

function solutionOf(name: string, options: object): readonly string[] {
  const [task] = familyTasks(name, { ...options, count: 1 });
  return task?.replies ?? [];
}

Deno.test("/v1/families lists the families and their tasks, without solutions", async () => {
  await using server = served({});
  const { body: { families } } = await server.send("GET", "/v1/families");
  assertEquals(
    families.map(({ env }: { env: string }) => env),
    FAMILY_NAMES.map((name) => `paddock/${name}`),
  );
  const path = "/v1/families/graph-paths/tasks?difficulty=3&split=test&count=2&start=1&seed=5";
  const { body: { tasks } } = await server.send("GET", path);
  const expected = familyTasks("graph-paths", { difficulty: 3, split: "test", seed: 5, start: 1, count: 2 });
  assertEquals(tasks, [...expected].map(({ replies: _, ...task }) => task));
  for (const wrong of ["none/tasks", "graph-paths/tasks?difficulty=11", "graph-paths/tasks?split=dev"]) {
    assertEquals((await server.send("GET", `/v1/families/${wrong}`)).status, 422, wrong);
  }
});

Deno.test("/v1/envs plays problems of a family, and the same problem for the same seed", async () => {
  await using server = served({});
  const path = await createEnv(server, { env: "paddock/graph-paths", problems: { difficulty: 3 } });
  const { body: first } = await server.send("POST", `${path}/reset`, { seed: 7 });
  assertEquals(first.observation.taskId, "paddock/graph-paths:1:3:train:7:0");
  const [solution = ""] = solutionOf("graph-paths", { difficulty: 3, seed: 7 });
  const { body: step } = await server.send("POST", `${path}/step`, { reply: solution });
  assertEquals([step.reward, step.terminated, step.rewardParts], [1, true, { family: 1, well_formed: 1 }]);
  const { body: again } = await server.send("POST", `${path}/reset`, { seed: 7 });
  assertEquals(again.observation, first.observation);
  const { body: wrong } = await server.send("POST", `${path}/step`, { reply: "A -> B" });
  assertEquals([wrong.reward, wrong.rewardParts], [0, { family: 0, well_formed: 0 }]);
});

Deno.test("/v1/envs plays the next problem of the env without a seed, and a task of /v1/families", async () => {
  await using server = served({});
  const path = await createEnv(server, { env: "paddock/countdown", problems: { difficulty: 2, seed: 4 } });
  const ids: string[] = [];
  for (let count = 0; count < 2; count++) {
    const { body } = await server.send("POST", `${path}/reset`, {});
    ids.push(body.observation.taskId);
  }
  assertEquals(ids, ["paddock/countdown:1:2:train:4:0", "paddock/countdown:1:2:train:4:1"]);
  const { body: { tasks: [task] } } = await server.send("GET", "/v1/families/countdown/tasks?split=test");
  const { body } = await server.send("POST", `${path}/reset`, { task });
  assertEquals(body.observation.taskId, task.id);
  assertStringIncludes(body.observation.messages[0].content, task.query);
});

Deno.test("/v1/envs runs the tools of a family on the host", async () => {
  await using server = served({});
  const path = await createEnv(server, { env: "paddock/state-machines" });
  const { body: { observation } } = await server.send("POST", `${path}/reset`, { seed: 1 });
  assertEquals(observation.tools.map(({ name }: { name: string }) => name), ["press", "restart"]);
  const steps = [];
  for (const reply of solutionOf("state-machines", { seed: 1 })) {
    steps.push((await server.send("POST", `${path}/step`, { reply })).body);
  }
  assertEquals(steps.at(-1).reward, 1);
  assertEquals(steps.slice(0, -1).every(({ terminated, reward }) => !terminated && reward === null), true);
});

Deno.test("/v1/envs refuses options that a family does not have, and problems of other envs", async () => {
  await using server = served({});
  const statusOf = async (config: object) => (await server.send("POST", "/v1/envs", config)).status;
  assertEquals(await statusOf({ env: "paddock/countdown", problems: { difficulty: 11 } }), 422);
  assertEquals(await statusOf({ env: "paddock/countdown", tools: ["x"] }), 422);
  assertEquals(await statusOf({ env: "paddock/none" }), 422);
  assertEquals(await statusOf({ env: "chat", problems: { difficulty: 1 } }), 422);
});

Deno.test("/v1/grade scores a reply to a task of a family", async () => {
  await using server = served({ graders });
  const { body: { tasks: [task] } } = await server.send("GET", "/v1/families/scheduling/tasks");
  const [content = ""] = solutionOf("scheduling", {});
  const messages = [{ role: "user", content: task.query }, { role: "assistant", content }];
  const { body } = await server.send("POST", "/v1/grade", { grader: "family", task, messages });
  assertEquals(body, { score: 1, parts: { well_formed: 1 } });
});
