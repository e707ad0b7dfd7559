import * as z from "zod";
import { jsonBody, jsonResponse } from "../../v1/route.ts";
import { errorsOf, operation, type PeerOperation } from "../operation.ts";
import { pistonError, pistonRequest, pistonResult, RUNTIME } from "./contract.ts";

const ERROR = { schema: pistonError, example: { message: "files is required as an array" } };
const { language, version, aliases } = RUNTIME;
const RUN = {
  stdout: "42\n",
  stderr: "",
  output: "42\n",
  code: 0,
  signal: null,
  message: null,
  status: null,
  wall_time: 3,
  cpu_time: null,
  memory: null,
};

/** The operations of Piston. */
export const PISTON_OPERATIONS: readonly PeerOperation[] = [
  operation("get /api/v2/runtimes", {
    id: "listRuntimes",
    summary: "List the runtimes of Piston: Python",
    responses: {
      200: jsonResponse(
        z.array(z.object({ language: z.string(), version: z.string(), aliases: z.array(z.string()) })),
        "The runtimes",
        { example: [{ language, version, aliases }] },
      ),
    },
  }),
  operation("post /api/v2/execute", {
    id: "executeFiles",
    summary: "Run a program as a process of its own",
    body: jsonBody(pistonRequest, { language, version: "3.x", files: [{ content: "print(6 * 7)" }] }),
    responses: {
      200: jsonResponse(pistonResult, "The result", { example: { language, version, run: RUN } }),
      ...errorsOf(ERROR, [400, 409, 415, 422, 429, 504]),
    },
  }),
];
