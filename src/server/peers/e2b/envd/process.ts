import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import type { EventQueue, ProcessOutput } from "./event_queue.ts";
import type { ShellProcess } from "./processes.ts";
import { type EnvdCall, STREAM_KEEP_ALIVE_MS } from "./filesystem.ts";
import {
  type Process,
  type ProcessEvent,
  ProcessEventSchema,
  type ProcessInput,
  type ProcessSelector,
  Signal,
} from "./process_pb.ts";

/** Returns envd's service `process`: commands of the session's shell. */
export function processService(callOf: (context: HandlerContext) => EnvdCall): ServiceImpl<typeof Process> {
  const find = (selector: ProcessSelector | undefined, context: HandlerContext) =>
    findProcess(callOf(context), selector);
  return {
    list(_, context) {
      const processes = callOf(context).sandbox.processes.list();
      return {
        processes: processes.map(({ pid, tag, config: { cmd, args, envs, cwd } }) => ({
          pid,
          ...(tag !== undefined && { tag }),
          config: { cmd, args: [...args], envs: { ...envs }, ...(cwd !== undefined && { cwd }) },
        })),
      };
    },
    async *start({ process: config, pty, tag, stdin = false }, context) {
      if (pty) throw noTerminal();
      if (!config) throw new ConnectError("the request has no process", Code.InvalidArgument);
      const { sandbox, memory } = callOf(context);
      const timeoutMs = context.timeoutMs();
      const process = sandbox.processes.start(config, { tag, stdin, timeoutMs, memory });
      using queue = process.subscribe(memory);
      try {
        for await (const event of eventsOf(process, queue, context.signal)) yield { event };
      } finally {
        if (isLate(context.signal)) process.kill();
      }
    },
    async *connect({ process: selector }, context) {
      const process = find(selector, context);
      using queue = process.subscribe(callOf(context).memory);
      for await (const event of eventsOf(process, queue, context.signal)) yield { event };
    },
    sendInput({ process, input }, context) {
      write(find(process, context), input);
      return {};
    },
    async streamInput(requests, context) {
      let process: ShellProcess | undefined;
      for await (const { event } of requests) {
        if (event.case === "start") process = find(event.value.process, context);
        if (event.case !== "data") continue;
        if (!process) throw new ConnectError("the first message must name the process", Code.InvalidArgument);
        write(process, event.value.input);
      }
      return {};
    },
    closeStdin({ process }, context) {
      find(process, context).closeInput();
      return {};
    },
    sendSignal({ process, signal }, context) {
      const found = find(process, context);
      if (signal !== Signal.SIGKILL && signal !== Signal.SIGTERM) {
        throw new ConnectError("the signal must be SIGTERM or SIGKILL", Code.InvalidArgument);
      }
      found.kill();
      return {};
    },
    update() {
      throw noTerminal();
    },
  };
}

function findProcess({ sandbox }: EnvdCall, selector: ProcessSelector | undefined): ShellProcess {
  const chosen = selector?.selector;
  if (chosen?.case === "pid") return sandbox.processes.find({ pid: chosen.value });
  if (chosen?.case === "tag") return sandbox.processes.find({ tag: chosen.value });
  throw new ConnectError("the request names no process", Code.InvalidArgument);
}

function write(process: ShellProcess, input: ProcessInput | undefined): void {
  const data = input?.input;
  if (data?.case === "pty") throw noTerminal();
  if (data?.case === "stdin") process.write(data.value);
}

function noTerminal(): ConnectError {
  return new ConnectError("the shell of a session has no terminal (PTY)", Code.Unimplemented);
}

/** True if a call ended because the time is over. */
function isLate({ reason }: AbortSignal): boolean {
  return reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;
}

async function* eventsOf(
  process: ShellProcess,
  queue: EventQueue,
  signal: AbortSignal,
): AsyncGenerator<ProcessEvent> {
  yield create(ProcessEventSchema, { event: { case: "start", value: { pid: process.pid } } });
  while (true) {
    const outputs = await queue.read(AbortSignal.any([signal, AbortSignal.timeout(STREAM_KEEP_ALIVE_MS)]));
    if (outputs.length === 0) {
      signal.throwIfAborted();
      yield create(ProcessEventSchema, { event: { case: "keepalive", value: {} } });
    }
    for (const output of outputs) {
      yield toEvent(output);
      if ("exitCode" in output) return;
    }
  }
}

function toEvent(output: ProcessOutput): ProcessEvent {
  if ("exitCode" in output) {
    return create(ProcessEventSchema, { event: { case: "end", value: output } });
  }
  const { stream, bytes } = output;
  return create(ProcessEventSchema, {
    event: { case: "data", value: { output: { case: stream, value: bytes } } },
  });
}
