import { type Command, Option } from "commander";
import { gatewayApp, isGatewayPath } from "../../gateway/app.ts";
import type { RequestHandler } from "../../server/http/http_server.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import { UsageError } from "../cli_errors.ts";
import { GATEWAY_GROUP } from "../../gateway/operations.ts";
import { currentIo } from "../io.ts";
import { writeText } from "../output.ts";
import { collectValues, nameOption, parseWholeNumber } from "../options.ts";
import type { ServeAddress } from "../serve/address.ts";
import { logError } from "../serve/listening.ts";
import { evaluationNote, openGateway, type OpenGatewayOptions } from "./open_gateway.ts";

/** Options of `serve` for agents that ask a model. */
export interface ServedGatewayFlags {
  readonly gatewayPolicy?: string;
  readonly gatewayModel?: string;
  readonly gatewayTokenizer?: string;
  readonly gatewayCalls?: string;
  readonly gatewayRewritten?: "branch" | "keep" | "refuse";
  readonly gatewayContextLength?: number;
  readonly gatewayOut?: string;
  readonly gatewayStateDir?: string;
  readonly gatewayGraderFile?: string[];
}

/** Options of {@linkcode withGateway}: the address of the server, and parts that the gateway shares with the server. */
export interface ServedGatewayOptions extends Omit<OpenGatewayOptions, "owners"> {
  readonly address: ServeAddress;
}

/** Adds the options of `serve` for agents that ask a model. */
export function addGatewayOptions(command: Command): Command {
  return command.optionsGroup("Model of agents, as of 'paddock gateway':")
    .option(
      "--gateway-policy <policy>",
      "model server that returns token ids: sglang:URL, or openai:URL of vLLM; any other only for evaluation: openai-chat:URL",
    )
    .option("--gateway-model <name>", "name of the model; openai:URL needs it")
    .option("--gateway-tokenizer <dir>", "folder with the tokenizer of the model")
    .addOption(
      nameOption(
        "--gateway-calls <style>",
        "syntax in which the model writes tool calls",
        Object.keys(CALL_STYLES),
      ),
    )
    .addOption(
      new Option("--gateway-rewritten <mode>", "what happens if an agent changes a message of the assistant")
        .choices(["branch", "keep", "refuse"]),
    )
    .option("--gateway-context-length <n>", "tokens that the model takes", parseWholeNumber(1))
    .option("--gateway-out <file>", "append the rows of each session that ends to a file")
    .option("--gateway-state-dir <dir>", "folder by which sessions of agents continue after a restart")
    .option(
      "--gateway-grader-file <file>",
      "TypeScript or Python file with a grader, which rewards name by the file's name; repeatable",
      collectValues,
    );
}

/**
 * Returns a handler that also answers the requests of agents; the same handler without `--gateway-policy`.
 *
 * @throws {UsageError} if an option is wrong.
 */
export async function withGateway(
  handler: RequestHandler,
  flags: ServedGatewayFlags,
  { address, stack, ...parts }: ServedGatewayOptions,
): Promise<RequestHandler> {
  const { gatewayPolicy: policy, gatewayOut: out, gatewayModel: model, gatewayCalls: calls } = flags;
  if (policy === undefined) {
    const [other] = Object.keys(flags).filter((name) => name.startsWith("gateway"));
    if (other === undefined) return handler;
    throw new UsageError("Cannot serve a model to agents without a model server: give --gateway-policy");
  }
  const gateway = await openGateway({
    policy,
    model,
    tokenizer: flags.gatewayTokenizer,
    calls,
    rewritten: flags.gatewayRewritten,
    contextLength: flags.gatewayContextLength,
    out,
    stateDir: flags.gatewayStateDir,
    graderFile: flags.gatewayGraderFile,
  }, { ...parts, stack, owners: Math.max(1, address.tokens.length) });
  await writeText(currentIo().stderr, evaluationNote(gateway));
  const answer = gatewayApp({ ...address, gateway, onError: logError });
  return async (request, connection) => {
    const { pathname } = new URL(request.url);
    if (isGatewayPath(pathname)) return await answer(request, connection);
    const response = await handler(request, connection);
    return pathname === OPENAPI && response.ok
      ? await mergeDocuments(response, await answer(request))
      : response;
  };
}

const OPENAPI = "/openapi.json";

/** Adds the gateway's operations to the description of a server's API. */
async function mergeDocuments(ofServer: Response, ofGateway: Response): Promise<Response> {
  const [server, gateway] = await Promise.all([ofServer.json(), ofGateway.json()]);
  const paths = Object.entries(gateway.paths).filter(([path]) => isGatewayPath(path));
  const document = {
    ...server,
    tags: [
      ...server.tags,
      ...gateway.tags.filter(({ name }: { name: string }) => name === GATEWAY_GROUP.name),
    ],
    paths: { ...server.paths, ...Object.fromEntries(paths) },
    components: {
      ...server.components,
      schemas: { ...gateway.components.schemas, ...server.components.schemas },
    },
  };
  const { status, headers } = ofServer;
  const kept = new Headers(headers);
  kept.delete("content-length");
  return Response.json(document, { status, headers: kept });
}
