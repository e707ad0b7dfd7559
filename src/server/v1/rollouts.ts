import { createRoute } from "@hono/zod-openapi";
import * as z from "zod";
import { shortenInteraction, shortenTrajectory, toEpisodeRow } from "../../rollout/episode/episode_row.ts";
import {
  type InteractionResult,
  parseInteraction,
  toInteractionResult,
} from "../../rollout/interaction_result.ts";
import type { StreamedRollout } from "../../rollout/stream_rollouts.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import {
  rolloutInfoSchema,
  rolloutListSchema,
  rolloutRequestSchema,
  rolloutTakenSchema,
  rolloutVersionSchema,
} from "../../wire/v1_rollouts.ts";
import type { AppContext } from "../http/context.ts";
import { ServerError, toErrorBody, toPublicError } from "../http/http_errors.ts";
import { streamBody } from "../http/response_stream.ts";
import { ROLLOUT_READ_MS } from "../limits.ts";
import type { LiveRollout, RolloutConfig } from "../rollouts/live_rollout.ts";
import type { RolloutService } from "../rollouts/rollout_service.ts";
import { toEnvConfig } from "./envs.ts";
import { callAnswerSchema } from "../../wire/v1_tools.ts";
import { MAX_NAME_CHARACTERS } from "../../wire/limits.ts";
import { CALL_ANSWER, ROLLOUT, ROLLOUT_EVENTS, ROLLOUT_OPTIONS } from "./examples.ts";
import {
  type Api,
  failures,
  idParams as params,
  jsonBody,
  jsonResponse,
  keepIntegers,
  keepTaskNumbers,
  ROLLOUTS_PATH,
} from "./route.ts";
import { callChannel, event, STREAM_HEADERS } from "./streams.ts";

const tags = ["rollouts"];

const EVENTS =
  `Event 'start' with {id}; 'episode' and 'partial' with {group, trajectory}, or {group, row} with \
'tokens'; 'group' with {group, episodes} after the last episode of a group; then one 'end' with {episodes, stopped}, \
or 'error'. With functions of the client also 'call' with {callId, name, arguments}, to be answered at \
/v1/rollouts/{id}/calls/{callId}, and 'cancel' with {callId} if the answer came too late. Episodes come in the order of their ends. The rollout ends when the client disconnects`;

const start = createRoute({
  operationId: "startRollout",
  method: "post",
  path: ROLLOUTS_PATH,
  middleware: keepTaskNumbers,
  tags,
  summary: "Play episodes with a policy of the server and stream them",
  request: { body: jsonBody(rolloutRequestSchema, ROLLOUT_OPTIONS) },
  responses: {
    200: {
      description: EVENTS,
      content: { "text/event-stream": { schema: {}, example: ROLLOUT_EVENTS } }, // a schema would apply to each event
    },
  },
});

const list = createRoute({
  operationId: "listRollouts",
  method: "get",
  path: ROLLOUTS_PATH,
  tags,
  summary: "List your rollouts, and the policies and envs that they may use",
  responses: {
    200: jsonResponse(rolloutListSchema, "Oldest first", {
      example: {
        policies: [ROLLOUT.policy],
        envs: [ROLLOUT.env],
        tokens: true,
        rollouts: [ROLLOUT],
      },
    }),
  },
});

const setVersion = createRoute({
  operationId: "setRolloutVersion",
  method: "post",
  path: "/v1/rollouts/{id}/version",
  tags,
  summary: "Set the version of the weights, which turns that begin later record",
  request: { params, body: jsonBody(rolloutVersionSchema, { weightVersion: 4 }) },
  responses: {
    200: jsonResponse(rolloutInfoSchema, "The rollout", { example: ROLLOUT }),
    ...failures("not_found", "conflict"),
  },
});

const stop = createRoute({
  operationId: "stopRollout",
  method: "delete",
  path: "/v1/rollouts/{id}",
  tags,
  summary: "Stop a rollout: with 'partial' its stream then has the turns so far of the running episodes",
  request: { params },
  responses: { 204: { description: "The rollout stops" }, ...failures("not_found") },
});

const answerCall = createRoute({
  operationId: "answerRolloutCall",
  method: "post",
  path: "/v1/rollouts/{id}/calls/{callId}",
  middleware: keepIntegers,
  tags,
  summary: "Answer a call of one of your functions",
  description: "A call can be answered once.",
  request: {
    params: params.extend({ callId: z.string().max(MAX_NAME_CHARACTERS).meta({ example: "call_1" }) }),
    body: jsonBody(callAnswerSchema, CALL_ANSWER),
  },
  responses: { 204: { description: "Done" }, ...failures("not_found", "conflict") },
});

const setTaken = createRoute({
  operationId: "setRolloutTaken",
  method: "post",
  path: "/v1/rollouts/{id}/taken",
  tags,
  summary: "Say how many items you have worked on, in a rollout with your functions",
  description:
    "Such a rollout sends the next item when you have worked on the one before, as its client must read on to be called. A rollout without " +
    "functions is held back by the connection instead.",
  request: { params, body: jsonBody(rolloutTakenSchema, { items: 4 }) },
  responses: { 204: { description: "Done" }, ...failures("not_found") },
});

/** Adds the routes of rollouts: start, list, set the version of the weights, answer calls, stop. */
export function addRolloutRoutes(app: Api, rollouts: RolloutService): void {
  app.openapi(start, async (c) => {
    const rollout = await rollouts.open(toRolloutConfig(c.req.valid("json")), c.get("owner"));
    c.env?.readWithin?.(ROLLOUT_READ_MS);
    const memory = c.get("memory");
    const body = streamBody(async (body, signal) => {
      body.send(event("start", { id: rollout.id }));
      rollout.functions?.connect(callChannel(body, memory));
      try {
        for await (const item of rollout.play(signal)) {
          body.send(toEvent(item));
          await rollout.waitForClient(body.room());
          await rollout.waitUntilTaken(signal);
        }
        body.send(event("end", { episodes: rollout.episodes, stopped: rollout.isStopped }));
      } catch (error) {
        body.send(event("error", toErrorBody(toPublicError(error))));
      }
    }, { signal: c.get("signal"), memory });
    return c.body(body, 200, STREAM_HEADERS);
  });
  app.openapi(list, (c) => {
    const { policies, envs, tokenizer } = rollouts.offer;
    return c.json({
      policies: [...policies.keys()],
      envs: [...envs],
      tokens: tokenizer !== undefined,
      rollouts: rollouts.list(c.get("owner")).map(toRolloutBody),
    }, 200);
  });
  app.openapi(setVersion, (c) => {
    const rollout = findRollout(rollouts, c);
    rollout.setWeightVersion(c.req.valid("json").weightVersion);
    return c.json(toRolloutBody(rollout), 200);
  });
  app.openapi(answerCall, async (c) => {
    const { functions } = findRollout(rollouts, c);
    if (functions === undefined) {
      throw new ServerError("not_found", "The rollout has no functions of a client");
    }
    await functions.answer(c.req.valid("param").callId, c.req.valid("json"));
    return c.body(null, 204);
  });
  app.openapi(setTaken, (c) => {
    findRollout(rollouts, c).setTaken(c.req.valid("json").items);
    return c.body(null, 204);
  });
  app.openapi(stop, (c) => {
    findRollout(rollouts, c).stop();
    return c.body(null, 204);
  });
}

function findRollout(rollouts: RolloutService, c: AppContext): LiveRollout {
  return rollouts.find(c.req.param("id") ?? "", c.get("owner"));
}

/** @throws {ServerError} `invalid` if a row of an earlier rollout is wrong. */
function toRolloutConfig(request: z.output<typeof rolloutRequestSchema>): RolloutConfig {
  const { resumed, ...options } = request;
  return { ...options, ...toEnvConfig(options), resumed: resumed.map(parseResumed) };
}

function parseResumed(row: Record<string, unknown>, at: number): InteractionResult {
  try {
    return parseInteraction(row);
  } catch (error) {
    if (error instanceof SyntaxError) throw new ServerError("invalid", `resumed.${at}: ${error.message}`);
    throw error;
  }
}

function toEvent(item: StreamedRollout): string {
  if (item.kind === "group") return event("group", { group: item.group, episodes: item.episodes });
  const group = JSON.stringify(item.group);
  return `event: ${item.kind}\ndata: {"group":${group},${episodeMember(item.trajectory)}}\n\n`;
}

/**
 * Returns the row of an episode for a trainer if the episode has tokens; else the trajectory, as for a failed episode.
 */
function episodeMember(trajectory: Trajectory): string {
  if (trajectory.tokens?.promptLength === undefined) {
    return `"trajectory":${toEpisodeRow(trajectory, { shorten: shortenTrajectory })}`;
  }
  return `"row":${toEpisodeRow(toInteractionResult(trajectory), { shorten: shortenInteraction })}`;
}

function toRolloutBody(
  { id, config, createdAt, weightVersion, episodes }: LiveRollout,
): z.output<typeof rolloutInfoSchema> {
  return {
    id,
    createdAt: createdAt.toISOString(),
    policy: config.policy,
    env: config.env,
    ...(weightVersion !== undefined && { weightVersion }),
    episodes,
  };
}
