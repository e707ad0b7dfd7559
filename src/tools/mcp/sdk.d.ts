// The part of the types of @modelcontextprotocol/client that is used here. A test compares them with the library's.

export type RequestId = string | number;

export type JSONRPCMessage =
  | { jsonrpc: "2.0"; id: RequestId; method: string; params?: Record<string, unknown> | undefined }
  | { jsonrpc: "2.0"; method: string; params?: Record<string, unknown> | undefined }
  | { jsonrpc: "2.0"; id: RequestId; result: Record<string, unknown> }
  | {
    jsonrpc: "2.0";
    id?: RequestId | undefined;
    error: { code: number; message: string; data?: unknown };
  };

/** Data of a transport about a message, which is passed on unread. */
export type MessageExtraInfo = object;

export interface Transport {
  start(): Promise<void>;
  send(message: JSONRPCMessage): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage, extra?: MessageExtraInfo) => void) | undefined;
}

/** A tool of a server. */
export interface Tool {
  name: string;
  title?: string | undefined;
  description?: string | undefined;
  inputSchema: { type: "object"; [key: string]: unknown };
  annotations?: { readOnlyHint?: boolean | undefined; idempotentHint?: boolean | undefined } | undefined;
}

export interface RequestOptions {
  timeout?: number;
  signal?: AbortSignal;
}

/** Schema of a result, in the form that libraries of schemas share. */
export interface ResultSchema<Result> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => { readonly value: Result };
  };
}

export class Client {
  constructor(info: { name: string; version: string });
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  connect(transport: Transport, options?: RequestOptions): Promise<void>;
  getServerCapabilities(): { tools?: object | undefined } | undefined;
  request<Result>(
    request: { method: string; params?: Record<string, unknown> },
    schema: ResultSchema<Result>,
    options?: RequestOptions,
  ): Promise<Result>;
  close(): Promise<void>;
}

export class SdkError extends Error {
  readonly code: string;
}

export class SdkHttpError extends SdkError {
  get status(): number | undefined;
}

export class StreamableHTTPClientTransport implements Transport {
  constructor(url: URL, options?: {
    requestInit?: RequestInit;
    fetch?: (url: string | URL, init?: RequestInit) => Promise<Response>;
  });
  start(): Promise<void>;
  send(message: JSONRPCMessage): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage, extra?: MessageExtraInfo) => void) | undefined;
}

export function serializeMessage(message: JSONRPCMessage): string;
