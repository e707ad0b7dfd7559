import * as z from "zod";
import { jsonBody, jsonResponse } from "../../../v1/route.ts";
import { DETAIL_ERROR, errorsOf, operation, type PeerOperation } from "../../operation.ts";
import { context, contextRequest } from "../contract.ts";

/** Invalid bodies are reported as JSON, all else as text. */
const errors = errorsOf({ ...DETAIL_ERROR, hasText: true }, [400, 404, 409, 422, 429, 504]);
const CONTEXT = { id: "0f8fad5bd9cb469fa16570867728950e", language: "python", cwd: "/home/pyodide" };

const params = z.object({ id: z.string() });
const done = { 200: jsonResponse(z.null(), "Done", { example: null }), ...errors };

/** The operations of E2B's code interpreter but for `/execute`, which NeMo-Skills uses as well. */
export const CODE_OPERATIONS: readonly PeerOperation[] = [
  operation("post /contexts", {
    id: "createContext",
    summary: "Open a context of E2B",
    body: jsonBody(contextRequest, { language: "python" }),
    responses: { 200: jsonResponse(context, "The context", { example: CONTEXT }), ...errors },
  }),
  operation("get /contexts", {
    id: "listContexts",
    summary: "List the contexts of E2B",
    responses: { 200: jsonResponse(z.array(context), "The contexts", { example: [CONTEXT] }), ...errors },
  }),
  operation("post /contexts/{id}/restart", {
    id: "restartContext",
    summary: "Start a new interpreter for a context of E2B",
    params,
    responses: done,
  }),
  operation("delete /contexts/{id}", {
    id: "deleteContext",
    summary: "End a context of E2B",
    params,
    responses: done,
  }),
];
