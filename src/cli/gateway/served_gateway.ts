import { type Command, Option } from "commander";
import { gatewayApp, isGatewayPath } from "../../gateway/app.ts";
import type { RequestHandler } from "../../server/http/http_server.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import { UsageError } from "../cli_errors.ts";
import { nameOption, parseWholeNumber } from "../options.ts";
import type { ServeAddress } from "../serve/address.ts";
import { logError } from "../serve/listening.ts";
import { openGateway } from "./open_gateway.ts";

/** Options of `serve` for agents that ask a model. */
export interface ServedGatewayFlags {
  readonly gatewayPolicy?: string;
  readonly gatewayModel?: string;
  readonly gatewayTokenizer?: string;
  readonly gatewayCalls?: string;
  readonly gatewayRewritten?: "branch" | "keep" | "refuse";
  readonly gatewayContextLength?: number;
  readonly gatewayOut?: string;
}

/** Adds the options of `serve` for agents that ask a model. */
export function addGatewayOptions(command: Command): Command {
  return command.optionsGroup("Model of agents, as of 'paddock gateway':")
    .option(
      "--gateway-policy <policy>",
      "model server that returns token ids: sglang:URL, or openai:URL of vLLM",
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
    .option("--gateway-out <file>", "append the rows of each session that ends to a file");
}

/**
 * Returns a handler that also answers the requests of agents; the same handler without `--gateway-policy`.
 *
 * @throws {UsageError} if an option is wrong.
 */
export async function withGateway(
  handler: RequestHandler,
  flags: ServedGatewayFlags,
  { address, stack }: { address: ServeAddress; stack: AsyncDisposableStack },
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
  }, { stack, owners: Math.max(1, address.tokens.length) });
  const answer = gatewayApp({ ...address, gateway, onError: logError });
  return (request, connection) =>
    isGatewayPath(new URL(request.url).pathname) ? answer(request, connection) : handler(request, connection);
}
