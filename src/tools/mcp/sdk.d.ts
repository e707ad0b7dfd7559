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

export interface ResourceLink {
  type: "resource_link";
  name: string;
  uri: string;
  mimeType?: string | undefined;
}

export interface EmbeddedResource {
  type: "resource";
  resource:
    | { uri: string; mimeType?: string | undefined; text: string }
    | { uri: string; mimeType?: string | undefined; blob: string };
}

export type ContentBlock =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "audio"; data: string; mimeType: string }
  | ResourceLink
  | EmbeddedResource;

export interface CallToolResult {
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean | undefined;
}

export interface RequestOptions {
  timeout?: number;
  signal?: AbortSignal;
}

/** Validator of structured results. */
export interface JsonSchemaValidators {
  getValidator(schema: never): (data: unknown) => { valid: true; data: never; errorMessage: undefined };
}

export class Client {
  constructor(
    info: { name: string; version: string },
    options?: { jsonSchemaValidator?: JsonSchemaValidators },
  );
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  connect(transport: Transport, options?: RequestOptions): Promise<void>;
  listTools(params: undefined, options?: RequestOptions): Promise<{ tools: Tool[] }>;
  callTool(
    params: { name: string; arguments: Record<string, unknown> },
    options?: RequestOptions,
  ): Promise<CallToolResult>;
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

export function deserializeMessage(line: string): JSONRPCMessage;
export function serializeMessage(message: JSONRPCMessage): string;
