// Generated from process.proto by `deno task e2b-proto`: do not edit.
// deno-lint-ignore-file

import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import type { Message } from "@bufbuild/protobuf";
export const file_process: GenFile = /*@__PURE__*/
  fileDesc(
    "Cg1wcm9jZXNzLnByb3RvEgdwcm9jZXNzIqEBCg1Qcm9jZXNzQ29uZmlnEgsKA2NtZBgBIAEoCRIMCgRhcmdzGAIgAygJEi4KBGVudnMYAyADKAsyIC5wcm9jZXNzLlByb2Nlc3NDb25maWcuRW52c0VudHJ5EhAKA2N3ZBgEIAEoCUgAiAEBGisKCUVudnNFbnRyeRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAk6AjgBQgYKBF9jd2QiXAoLUHJvY2Vzc0luZm8SJgoGY29uZmlnGAEgASgLMhYucHJvY2Vzcy5Qcm9jZXNzQ29uZmlnEgsKA3BpZBgCIAEoDRIQCgN0YWcYAyABKAlIAIgBAUIGCgRfdGFnIjsKD1Byb2Nlc3NTZWxlY3RvchINCgNwaWQYASABKA1IABINCgN0YWcYAiABKAlIAEIKCghzZWxlY3RvciI3CgxQcm9jZXNzSW5wdXQSDwoFc3RkaW4YASABKAxIABINCgNwdHkYAiABKAxIAEIHCgVpbnB1dCKvAwoMUHJvY2Vzc0V2ZW50EjEKBXN0YXJ0GAEgASgLMiAucHJvY2Vzcy5Qcm9jZXNzRXZlbnQuU3RhcnRFdmVudEgAEi8KBGRhdGEYAiABKAsyHy5wcm9jZXNzLlByb2Nlc3NFdmVudC5EYXRhRXZlbnRIABItCgNlbmQYAyABKAsyHi5wcm9jZXNzLlByb2Nlc3NFdmVudC5FbmRFdmVudEgAEjQKCWtlZXBhbGl2ZRgEIAEoCzIfLnByb2Nlc3MuUHJvY2Vzc0V2ZW50LktlZXBBbGl2ZUgAGhkKClN0YXJ0RXZlbnQSCwoDcGlkGAEgASgNGkgKCURhdGFFdmVudBIQCgZzdGRvdXQYASABKAxIABIQCgZzdGRlcnIYAiABKAxIABINCgNwdHkYAyABKAxIAEIICgZvdXRwdXQaWwoIRW5kRXZlbnQSEQoJZXhpdF9jb2RlGAEgASgREg4KBmV4aXRlZBgCIAEoCBIOCgZzdGF0dXMYAyABKAkSEgoFZXJyb3IYBCABKAlIAIgBAUIICgZfZXJyb3IaCwoJS2VlcEFsaXZlQgcKBWV2ZW50IkoKA1BUWRIfCgRzaXplGAEgASgLMhEucHJvY2Vzcy5QVFkuU2l6ZRoiCgRTaXplEgwKBGNvbHMYASABKA0SDAoEcm93cxgCIAEoDSINCgtMaXN0UmVxdWVzdCI3CgxMaXN0UmVzcG9uc2USJwoJcHJvY2Vzc2VzGAEgAygLMhQucHJvY2Vzcy5Qcm9jZXNzSW5mbyKXAQoMU3RhcnRSZXF1ZXN0EicKB3Byb2Nlc3MYASABKAsyFi5wcm9jZXNzLlByb2Nlc3NDb25maWcSHgoDcHR5GAIgASgLMgwucHJvY2Vzcy5QVFlIAIgBARIQCgN0YWcYAyABKAlIAYgBARISCgVzdGRpbhgEIAEoCEgCiAEBQgYKBF9wdHlCBgoEX3RhZ0IICgZfc3RkaW4iNQoNU3RhcnRSZXNwb25zZRIkCgVldmVudBgBIAEoCzIVLnByb2Nlc3MuUHJvY2Vzc0V2ZW50IjsKDkNvbm5lY3RSZXF1ZXN0EikKB3Byb2Nlc3MYASABKAsyGC5wcm9jZXNzLlByb2Nlc3NTZWxlY3RvciI3Cg9Db25uZWN0UmVzcG9uc2USJAoFZXZlbnQYASABKAsyFS5wcm9jZXNzLlByb2Nlc3NFdmVudCJiCg1VcGRhdGVSZXF1ZXN0EikKB3Byb2Nlc3MYASABKAsyGC5wcm9jZXNzLlByb2Nlc3NTZWxlY3RvchIeCgNwdHkYAiABKAsyDC5wcm9jZXNzLlBUWUgAiAEBQgYKBF9wdHkiEAoOVXBkYXRlUmVzcG9uc2UiYwoQU2VuZElucHV0UmVxdWVzdBIpCgdwcm9jZXNzGAEgASgLMhgucHJvY2Vzcy5Qcm9jZXNzU2VsZWN0b3ISJAoFaW5wdXQYAiABKAsyFS5wcm9jZXNzLlByb2Nlc3NJbnB1dCITChFTZW5kSW5wdXRSZXNwb25zZSLCAgoSU3RyZWFtSW5wdXRSZXF1ZXN0EjcKBXN0YXJ0GAEgASgLMiYucHJvY2Vzcy5TdHJlYW1JbnB1dFJlcXVlc3QuU3RhcnRFdmVudEgAEjUKBGRhdGEYAiABKAsyJS5wcm9jZXNzLlN0cmVhbUlucHV0UmVxdWVzdC5EYXRhRXZlbnRIABI6CglrZWVwYWxpdmUYAyABKAsyJS5wcm9jZXNzLlN0cmVhbUlucHV0UmVxdWVzdC5LZWVwQWxpdmVIABo3CgpTdGFydEV2ZW50EikKB3Byb2Nlc3MYASABKAsyGC5wcm9jZXNzLlByb2Nlc3NTZWxlY3RvchoxCglEYXRhRXZlbnQSJAoFaW5wdXQYAiABKAsyFS5wcm9jZXNzLlByb2Nlc3NJbnB1dBoLCglLZWVwQWxpdmVCBwoFZXZlbnQiFQoTU3RyZWFtSW5wdXRSZXNwb25zZSJfChFTZW5kU2lnbmFsUmVxdWVzdBIpCgdwcm9jZXNzGAEgASgLMhgucHJvY2Vzcy5Qcm9jZXNzU2VsZWN0b3ISHwoGc2lnbmFsGAIgASgOMg8ucHJvY2Vzcy5TaWduYWwiFAoSU2VuZFNpZ25hbFJlc3BvbnNlIj4KEUNsb3NlU3RkaW5SZXF1ZXN0EikKB3Byb2Nlc3MYASABKAsyGC5wcm9jZXNzLlByb2Nlc3NTZWxlY3RvciIUChJDbG9zZVN0ZGluUmVzcG9uc2UqSAoGU2lnbmFsEhYKElNJR05BTF9VTlNQRUNJRklFRBAAEhIKDlNJR05BTF9TSUdLSUxMEAkSEgoOU0lHTkFMX1NJR1RFUk0QDzKRBAoHUHJvY2VzcxIzCgRMaXN0EhQucHJvY2Vzcy5MaXN0UmVxdWVzdBoVLnByb2Nlc3MuTGlzdFJlc3BvbnNlEj4KB0Nvbm5lY3QSFy5wcm9jZXNzLkNvbm5lY3RSZXF1ZXN0GhgucHJvY2Vzcy5Db25uZWN0UmVzcG9uc2UwARI4CgVTdGFydBIVLnByb2Nlc3MuU3RhcnRSZXF1ZXN0GhYucHJvY2Vzcy5TdGFydFJlc3BvbnNlMAESOQoGVXBkYXRlEhYucHJvY2Vzcy5VcGRhdGVSZXF1ZXN0GhcucHJvY2Vzcy5VcGRhdGVSZXNwb25zZRJKCgtTdHJlYW1JbnB1dBIbLnByb2Nlc3MuU3RyZWFtSW5wdXRSZXF1ZXN0GhwucHJvY2Vzcy5TdHJlYW1JbnB1dFJlc3BvbnNlKAESQgoJU2VuZElucHV0EhkucHJvY2Vzcy5TZW5kSW5wdXRSZXF1ZXN0GhoucHJvY2Vzcy5TZW5kSW5wdXRSZXNwb25zZRJFCgpTZW5kU2lnbmFsEhoucHJvY2Vzcy5TZW5kU2lnbmFsUmVxdWVzdBobLnByb2Nlc3MuU2VuZFNpZ25hbFJlc3BvbnNlEkUKCkNsb3NlU3RkaW4SGi5wcm9jZXNzLkNsb3NlU3RkaW5SZXF1ZXN0GhsucHJvY2Vzcy5DbG9zZVN0ZGluUmVzcG9uc2ViBnByb3RvMw",
  );
export type ProcessConfig = Message<"process.ProcessConfig"> & {
  cmd: string;
  args: string[];
  envs: { [key: string]: string };
  cwd?: string | undefined;
};
export const ProcessConfigSchema: GenMessage<ProcessConfig> = /*@__PURE__*/
  messageDesc(file_process, 0);
export type ProcessInfo = Message<"process.ProcessInfo"> & {
  config?: ProcessConfig | undefined;
  pid: number;
  tag?: string | undefined;
};
export const ProcessInfoSchema: GenMessage<ProcessInfo> = /*@__PURE__*/
  messageDesc(file_process, 1);
export type ProcessSelector = Message<"process.ProcessSelector"> & {
  selector: {
    value: number;
    case: "pid";
  } | {
    value: string;
    case: "tag";
  } | { case: undefined; value?: undefined };
};
export const ProcessSelectorSchema: GenMessage<ProcessSelector> = /*@__PURE__*/
  messageDesc(file_process, 2);
export type ProcessInput = Message<"process.ProcessInput"> & {
  input: {
    value: Uint8Array;
    case: "stdin";
  } | {
    value: Uint8Array;
    case: "pty";
  } | { case: undefined; value?: undefined };
};
export const ProcessInputSchema: GenMessage<ProcessInput> = /*@__PURE__*/
  messageDesc(file_process, 3);
export type ProcessEvent = Message<"process.ProcessEvent"> & {
  event: {
    value: ProcessEvent_StartEvent;
    case: "start";
  } | {
    value: ProcessEvent_DataEvent;
    case: "data";
  } | {
    value: ProcessEvent_EndEvent;
    case: "end";
  } | {
    value: ProcessEvent_KeepAlive;
    case: "keepalive";
  } | { case: undefined; value?: undefined };
};
export const ProcessEventSchema: GenMessage<ProcessEvent> = /*@__PURE__*/
  messageDesc(file_process, 4);
export type ProcessEvent_StartEvent = Message<"process.ProcessEvent.StartEvent"> & {
  pid: number;
};
export const ProcessEvent_StartEventSchema: GenMessage<ProcessEvent_StartEvent> = /*@__PURE__*/
  messageDesc(file_process, 4, 0);
export type ProcessEvent_DataEvent = Message<"process.ProcessEvent.DataEvent"> & {
  output: {
    value: Uint8Array;
    case: "stdout";
  } | {
    value: Uint8Array;
    case: "stderr";
  } | {
    value: Uint8Array;
    case: "pty";
  } | { case: undefined; value?: undefined };
};
export const ProcessEvent_DataEventSchema: GenMessage<ProcessEvent_DataEvent> = /*@__PURE__*/
  messageDesc(file_process, 4, 1);
export type ProcessEvent_EndEvent = Message<"process.ProcessEvent.EndEvent"> & {
  exitCode: number;
  exited: boolean;
  status: string;
  error?: string | undefined;
};
export const ProcessEvent_EndEventSchema: GenMessage<ProcessEvent_EndEvent> = /*@__PURE__*/
  messageDesc(file_process, 4, 2);
export type ProcessEvent_KeepAlive = Message<"process.ProcessEvent.KeepAlive"> & {};
export const ProcessEvent_KeepAliveSchema: GenMessage<ProcessEvent_KeepAlive> = /*@__PURE__*/
  messageDesc(file_process, 4, 3);
export type PTY = Message<"process.PTY"> & {
  size?: PTY_Size | undefined;
};
export const PTYSchema: GenMessage<PTY> = /*@__PURE__*/
  messageDesc(file_process, 5);
export type PTY_Size = Message<"process.PTY.Size"> & {
  cols: number;
  rows: number;
};
export const PTY_SizeSchema: GenMessage<PTY_Size> = /*@__PURE__*/
  messageDesc(file_process, 5, 0);
export type ListRequest = Message<"process.ListRequest"> & {};
export const ListRequestSchema: GenMessage<ListRequest> = /*@__PURE__*/
  messageDesc(file_process, 6);
export type ListResponse = Message<"process.ListResponse"> & {
  processes: ProcessInfo[];
};
export const ListResponseSchema: GenMessage<ListResponse> = /*@__PURE__*/
  messageDesc(file_process, 7);
export type StartRequest = Message<"process.StartRequest"> & {
  process?: ProcessConfig | undefined;
  pty?: PTY | undefined;
  tag?: string | undefined;
  stdin?: boolean | undefined;
};
export const StartRequestSchema: GenMessage<StartRequest> = /*@__PURE__*/
  messageDesc(file_process, 8);
export type StartResponse = Message<"process.StartResponse"> & {
  event?: ProcessEvent | undefined;
};
export const StartResponseSchema: GenMessage<StartResponse> = /*@__PURE__*/
  messageDesc(file_process, 9);
export type ConnectRequest = Message<"process.ConnectRequest"> & {
  process?: ProcessSelector | undefined;
};
export const ConnectRequestSchema: GenMessage<ConnectRequest> = /*@__PURE__*/
  messageDesc(file_process, 10);
export type ConnectResponse = Message<"process.ConnectResponse"> & {
  event?: ProcessEvent | undefined;
};
export const ConnectResponseSchema: GenMessage<ConnectResponse> = /*@__PURE__*/
  messageDesc(file_process, 11);
export type UpdateRequest = Message<"process.UpdateRequest"> & {
  process?: ProcessSelector | undefined;
  pty?: PTY | undefined;
};
export const UpdateRequestSchema: GenMessage<UpdateRequest> = /*@__PURE__*/
  messageDesc(file_process, 12);
export type UpdateResponse = Message<"process.UpdateResponse"> & {};
export const UpdateResponseSchema: GenMessage<UpdateResponse> = /*@__PURE__*/
  messageDesc(file_process, 13);
export type SendInputRequest = Message<"process.SendInputRequest"> & {
  process?: ProcessSelector | undefined;
  input?: ProcessInput | undefined;
};
export const SendInputRequestSchema: GenMessage<SendInputRequest> = /*@__PURE__*/
  messageDesc(file_process, 14);
export type SendInputResponse = Message<"process.SendInputResponse"> & {};
export const SendInputResponseSchema: GenMessage<SendInputResponse> = /*@__PURE__*/
  messageDesc(file_process, 15);
export type StreamInputRequest = Message<"process.StreamInputRequest"> & {
  event: {
    value: StreamInputRequest_StartEvent;
    case: "start";
  } | {
    value: StreamInputRequest_DataEvent;
    case: "data";
  } | {
    value: StreamInputRequest_KeepAlive;
    case: "keepalive";
  } | { case: undefined; value?: undefined };
};
export const StreamInputRequestSchema: GenMessage<StreamInputRequest> = /*@__PURE__*/
  messageDesc(file_process, 16);
export type StreamInputRequest_StartEvent = Message<"process.StreamInputRequest.StartEvent"> & {
  process?: ProcessSelector | undefined;
};
export const StreamInputRequest_StartEventSchema: GenMessage<StreamInputRequest_StartEvent> = /*@__PURE__*/
  messageDesc(file_process, 16, 0);
export type StreamInputRequest_DataEvent = Message<"process.StreamInputRequest.DataEvent"> & {
  input?: ProcessInput | undefined;
};
export const StreamInputRequest_DataEventSchema: GenMessage<StreamInputRequest_DataEvent> = /*@__PURE__*/
  messageDesc(file_process, 16, 1);
export type StreamInputRequest_KeepAlive = Message<"process.StreamInputRequest.KeepAlive"> & {};
export const StreamInputRequest_KeepAliveSchema: GenMessage<StreamInputRequest_KeepAlive> = /*@__PURE__*/
  messageDesc(file_process, 16, 2);
export type StreamInputResponse = Message<"process.StreamInputResponse"> & {};
export const StreamInputResponseSchema: GenMessage<StreamInputResponse> = /*@__PURE__*/
  messageDesc(file_process, 17);
export type SendSignalRequest = Message<"process.SendSignalRequest"> & {
  process?: ProcessSelector | undefined;
  signal: Signal;
};
export const SendSignalRequestSchema: GenMessage<SendSignalRequest> = /*@__PURE__*/
  messageDesc(file_process, 18);
export type SendSignalResponse = Message<"process.SendSignalResponse"> & {};
export const SendSignalResponseSchema: GenMessage<SendSignalResponse> = /*@__PURE__*/
  messageDesc(file_process, 19);
export type CloseStdinRequest = Message<"process.CloseStdinRequest"> & {
  process?: ProcessSelector | undefined;
};
export const CloseStdinRequestSchema: GenMessage<CloseStdinRequest> = /*@__PURE__*/
  messageDesc(file_process, 20);
export type CloseStdinResponse = Message<"process.CloseStdinResponse"> & {};
export const CloseStdinResponseSchema: GenMessage<CloseStdinResponse> = /*@__PURE__*/
  messageDesc(file_process, 21);
export enum Signal {
  UNSPECIFIED = 0,
  SIGKILL = 9,
  SIGTERM = 15,
}
export const SignalSchema: GenEnum<Signal> = /*@__PURE__*/
  enumDesc(file_process, 0);
export const Process: GenService<{
  list: {
    methodKind: "unary";
    input: typeof ListRequestSchema;
    output: typeof ListResponseSchema;
  };
  connect: {
    methodKind: "server_streaming";
    input: typeof ConnectRequestSchema;
    output: typeof ConnectResponseSchema;
  };
  start: {
    methodKind: "server_streaming";
    input: typeof StartRequestSchema;
    output: typeof StartResponseSchema;
  };
  update: {
    methodKind: "unary";
    input: typeof UpdateRequestSchema;
    output: typeof UpdateResponseSchema;
  };
  streamInput: {
    methodKind: "client_streaming";
    input: typeof StreamInputRequestSchema;
    output: typeof StreamInputResponseSchema;
  };
  sendInput: {
    methodKind: "unary";
    input: typeof SendInputRequestSchema;
    output: typeof SendInputResponseSchema;
  };
  sendSignal: {
    methodKind: "unary";
    input: typeof SendSignalRequestSchema;
    output: typeof SendSignalResponseSchema;
  };
  closeStdin: {
    methodKind: "unary";
    input: typeof CloseStdinRequestSchema;
    output: typeof CloseStdinResponseSchema;
  };
}> = /*@__PURE__*/
  serviceDesc(file_process, 0);
