// Generated from filesystem.proto by `deno task e2b-proto`: do not edit.
// deno-lint-ignore-file

import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { file_google_protobuf_timestamp } from "@bufbuild/protobuf/wkt";
import type { Message } from "@bufbuild/protobuf";
export const file_filesystem: GenFile = /*@__PURE__*/
  fileDesc(
    "ChBmaWxlc3lzdGVtLnByb3RvEgpmaWxlc3lzdGVtIuUCCglFbnRyeUluZm8SDAoEbmFtZRgBIAEoCRIiCgR0eXBlGAIgASgOMhQuZmlsZXN5c3RlbS5GaWxlVHlwZRIMCgRwYXRoGAMgASgJEgwKBHNpemUYBCABKAMSDAoEbW9kZRgFIAEoDRITCgtwZXJtaXNzaW9ucxgGIAEoCRINCgVvd25lchgHIAEoCRINCgVncm91cBgIIAEoCRIxCg1tb2RpZmllZF90aW1lGAkgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcBIbCg5zeW1saW5rX3RhcmdldBgKIAEoCUgAiAEBEjUKCG1ldGFkYXRhGAsgAygLMiMuZmlsZXN5c3RlbS5FbnRyeUluZm8uTWV0YWRhdGFFbnRyeRovCg1NZXRhZGF0YUVudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAFCEQoPX3N5bWxpbmtfdGFyZ2V0InkKD0ZpbGVzeXN0ZW1FdmVudBIMCgRuYW1lGAEgASgJEiMKBHR5cGUYAiABKA4yFS5maWxlc3lzdGVtLkV2ZW50VHlwZRIpCgVlbnRyeRgDIAEoCzIVLmZpbGVzeXN0ZW0uRW50cnlJbmZvSACIAQFCCAoGX2VudHJ5IhsKC1N0YXRSZXF1ZXN0EgwKBHBhdGgYASABKAkiNAoMU3RhdFJlc3BvbnNlEiQKBWVudHJ5GAEgASgLMhUuZmlsZXN5c3RlbS5FbnRyeUluZm8iHgoOTWFrZURpclJlcXVlc3QSDAoEcGF0aBgBIAEoCSI3Cg9NYWtlRGlyUmVzcG9uc2USJAoFZW50cnkYASABKAsyFS5maWxlc3lzdGVtLkVudHJ5SW5mbyIdCg1SZW1vdmVSZXF1ZXN0EgwKBHBhdGgYASABKAkiEAoOUmVtb3ZlUmVzcG9uc2UiMgoLTW92ZVJlcXVlc3QSDgoGc291cmNlGAEgASgJEhMKC2Rlc3RpbmF0aW9uGAIgASgJIjQKDE1vdmVSZXNwb25zZRIkCgVlbnRyeRgBIAEoCzIVLmZpbGVzeXN0ZW0uRW50cnlJbmZvIi0KDkxpc3REaXJSZXF1ZXN0EgwKBHBhdGgYASABKAkSDQoFZGVwdGgYAiABKA0iOQoPTGlzdERpclJlc3BvbnNlEiYKB2VudHJpZXMYASADKAsyFS5maWxlc3lzdGVtLkVudHJ5SW5mbyJJCg9XYXRjaERpclJlcXVlc3QSDAoEcGF0aBgBIAEoCRIRCglyZWN1cnNpdmUYAiABKAgSFQoNaW5jbHVkZV9lbnRyeRgDIAEoCCLgAQoQV2F0Y2hEaXJSZXNwb25zZRI4CgVzdGFydBgBIAEoCzInLmZpbGVzeXN0ZW0uV2F0Y2hEaXJSZXNwb25zZS5TdGFydEV2ZW50SAASMQoKZmlsZXN5c3RlbRgCIAEoCzIbLmZpbGVzeXN0ZW0uRmlsZXN5c3RlbUV2ZW50SAASOwoJa2VlcGFsaXZlGAMgASgLMiYuZmlsZXN5c3RlbS5XYXRjaERpclJlc3BvbnNlLktlZXBBbGl2ZUgAGgwKClN0YXJ0RXZlbnQaCwoJS2VlcEFsaXZlQgcKBWV2ZW50Ik4KFENyZWF0ZVdhdGNoZXJSZXF1ZXN0EgwKBHBhdGgYASABKAkSEQoJcmVjdXJzaXZlGAIgASgIEhUKDWluY2x1ZGVfZW50cnkYAyABKAgiKwoVQ3JlYXRlV2F0Y2hlclJlc3BvbnNlEhIKCndhdGNoZXJfaWQYASABKAkiLQoXR2V0V2F0Y2hlckV2ZW50c1JlcXVlc3QSEgoKd2F0Y2hlcl9pZBgBIAEoCSJHChhHZXRXYXRjaGVyRXZlbnRzUmVzcG9uc2USKwoGZXZlbnRzGAEgAygLMhsuZmlsZXN5c3RlbS5GaWxlc3lzdGVtRXZlbnQiKgoUUmVtb3ZlV2F0Y2hlclJlcXVlc3QSEgoKd2F0Y2hlcl9pZBgBIAEoCSIXChVSZW1vdmVXYXRjaGVyUmVzcG9uc2UqaQoIRmlsZVR5cGUSGQoVRklMRV9UWVBFX1VOU1BFQ0lGSUVEEAASEgoORklMRV9UWVBFX0ZJTEUQARIXChNGSUxFX1RZUEVfRElSRUNUT1JZEAISFQoRRklMRV9UWVBFX1NZTUxJTksQAyqYAQoJRXZlbnRUeXBlEhoKFkVWRU5UX1RZUEVfVU5TUEVDSUZJRUQQABIVChFFVkVOVF9UWVBFX0NSRUFURRABEhQKEEVWRU5UX1RZUEVfV1JJVEUQAhIVChFFVkVOVF9UWVBFX1JFTU9WRRADEhUKEUVWRU5UX1RZUEVfUkVOQU1FEAQSFAoQRVZFTlRfVFlQRV9DSE1PRBAFMp8FCgpGaWxlc3lzdGVtEjkKBFN0YXQSFy5maWxlc3lzdGVtLlN0YXRSZXF1ZXN0GhguZmlsZXN5c3RlbS5TdGF0UmVzcG9uc2USQgoHTGlzdERpchIaLmZpbGVzeXN0ZW0uTGlzdERpclJlcXVlc3QaGy5maWxlc3lzdGVtLkxpc3REaXJSZXNwb25zZRJCCgdNYWtlRGlyEhouZmlsZXN5c3RlbS5NYWtlRGlyUmVxdWVzdBobLmZpbGVzeXN0ZW0uTWFrZURpclJlc3BvbnNlEjkKBE1vdmUSFy5maWxlc3lzdGVtLk1vdmVSZXF1ZXN0GhguZmlsZXN5c3RlbS5Nb3ZlUmVzcG9uc2USPwoGUmVtb3ZlEhkuZmlsZXN5c3RlbS5SZW1vdmVSZXF1ZXN0GhouZmlsZXN5c3RlbS5SZW1vdmVSZXNwb25zZRJHCghXYXRjaERpchIbLmZpbGVzeXN0ZW0uV2F0Y2hEaXJSZXF1ZXN0GhwuZmlsZXN5c3RlbS5XYXRjaERpclJlc3BvbnNlMAESVAoNQ3JlYXRlV2F0Y2hlchIgLmZpbGVzeXN0ZW0uQ3JlYXRlV2F0Y2hlclJlcXVlc3QaIS5maWxlc3lzdGVtLkNyZWF0ZVdhdGNoZXJSZXNwb25zZRJdChBHZXRXYXRjaGVyRXZlbnRzEiMuZmlsZXN5c3RlbS5HZXRXYXRjaGVyRXZlbnRzUmVxdWVzdBokLmZpbGVzeXN0ZW0uR2V0V2F0Y2hlckV2ZW50c1Jlc3BvbnNlElQKDVJlbW92ZVdhdGNoZXISIC5maWxlc3lzdGVtLlJlbW92ZVdhdGNoZXJSZXF1ZXN0GiEuZmlsZXN5c3RlbS5SZW1vdmVXYXRjaGVyUmVzcG9uc2ViBnByb3RvMw",
    [file_google_protobuf_timestamp],
  );
export type EntryInfo = Message<"filesystem.EntryInfo"> & {
  name: string;
  type: FileType;
  path: string;
  size: bigint;
  mode: number;
  permissions: string;
  owner: string;
  group: string;
  modifiedTime?: Timestamp | undefined;
  symlinkTarget?: string | undefined;
  metadata: { [key: string]: string };
};
export const EntryInfoSchema: GenMessage<EntryInfo> = /*@__PURE__*/
  messageDesc(file_filesystem, 0);
export type FilesystemEvent = Message<"filesystem.FilesystemEvent"> & {
  name: string;
  type: EventType;
  entry?: EntryInfo | undefined;
};
export const FilesystemEventSchema: GenMessage<FilesystemEvent> = /*@__PURE__*/
  messageDesc(file_filesystem, 1);
export type StatRequest = Message<"filesystem.StatRequest"> & {
  path: string;
};
export const StatRequestSchema: GenMessage<StatRequest> = /*@__PURE__*/
  messageDesc(file_filesystem, 2);
export type StatResponse = Message<"filesystem.StatResponse"> & {
  entry?: EntryInfo | undefined;
};
export const StatResponseSchema: GenMessage<StatResponse> = /*@__PURE__*/
  messageDesc(file_filesystem, 3);
export type MakeDirRequest = Message<"filesystem.MakeDirRequest"> & {
  path: string;
};
export const MakeDirRequestSchema: GenMessage<MakeDirRequest> = /*@__PURE__*/
  messageDesc(file_filesystem, 4);
export type MakeDirResponse = Message<"filesystem.MakeDirResponse"> & {
  entry?: EntryInfo | undefined;
};
export const MakeDirResponseSchema: GenMessage<MakeDirResponse> = /*@__PURE__*/
  messageDesc(file_filesystem, 5);
export type RemoveRequest = Message<"filesystem.RemoveRequest"> & {
  path: string;
};
export const RemoveRequestSchema: GenMessage<RemoveRequest> = /*@__PURE__*/
  messageDesc(file_filesystem, 6);
export type RemoveResponse = Message<"filesystem.RemoveResponse"> & {};
export const RemoveResponseSchema: GenMessage<RemoveResponse> = /*@__PURE__*/
  messageDesc(file_filesystem, 7);
export type MoveRequest = Message<"filesystem.MoveRequest"> & {
  source: string;
  destination: string;
};
export const MoveRequestSchema: GenMessage<MoveRequest> = /*@__PURE__*/
  messageDesc(file_filesystem, 8);
export type MoveResponse = Message<"filesystem.MoveResponse"> & {
  entry?: EntryInfo | undefined;
};
export const MoveResponseSchema: GenMessage<MoveResponse> = /*@__PURE__*/
  messageDesc(file_filesystem, 9);
export type ListDirRequest = Message<"filesystem.ListDirRequest"> & {
  path: string;
  depth: number;
};
export const ListDirRequestSchema: GenMessage<ListDirRequest> = /*@__PURE__*/
  messageDesc(file_filesystem, 10);
export type ListDirResponse = Message<"filesystem.ListDirResponse"> & {
  entries: EntryInfo[];
};
export const ListDirResponseSchema: GenMessage<ListDirResponse> = /*@__PURE__*/
  messageDesc(file_filesystem, 11);
export type WatchDirRequest = Message<"filesystem.WatchDirRequest"> & {
  path: string;
  recursive: boolean;
  includeEntry: boolean;
};
export const WatchDirRequestSchema: GenMessage<WatchDirRequest> = /*@__PURE__*/
  messageDesc(file_filesystem, 12);
export type WatchDirResponse = Message<"filesystem.WatchDirResponse"> & {
  event: {
    value: WatchDirResponse_StartEvent;
    case: "start";
  } | {
    value: FilesystemEvent;
    case: "filesystem";
  } | {
    value: WatchDirResponse_KeepAlive;
    case: "keepalive";
  } | { case: undefined; value?: undefined };
};
export const WatchDirResponseSchema: GenMessage<WatchDirResponse> = /*@__PURE__*/
  messageDesc(file_filesystem, 13);
export type WatchDirResponse_StartEvent = Message<"filesystem.WatchDirResponse.StartEvent"> & {};
export const WatchDirResponse_StartEventSchema: GenMessage<WatchDirResponse_StartEvent> = /*@__PURE__*/
  messageDesc(file_filesystem, 13, 0);
export type WatchDirResponse_KeepAlive = Message<"filesystem.WatchDirResponse.KeepAlive"> & {};
export const WatchDirResponse_KeepAliveSchema: GenMessage<WatchDirResponse_KeepAlive> = /*@__PURE__*/
  messageDesc(file_filesystem, 13, 1);
export type CreateWatcherRequest = Message<"filesystem.CreateWatcherRequest"> & {
  path: string;
  recursive: boolean;
  includeEntry: boolean;
};
export const CreateWatcherRequestSchema: GenMessage<CreateWatcherRequest> = /*@__PURE__*/
  messageDesc(file_filesystem, 14);
export type CreateWatcherResponse = Message<"filesystem.CreateWatcherResponse"> & {
  watcherId: string;
};
export const CreateWatcherResponseSchema: GenMessage<CreateWatcherResponse> = /*@__PURE__*/
  messageDesc(file_filesystem, 15);
export type GetWatcherEventsRequest = Message<"filesystem.GetWatcherEventsRequest"> & {
  watcherId: string;
};
export const GetWatcherEventsRequestSchema: GenMessage<GetWatcherEventsRequest> = /*@__PURE__*/
  messageDesc(file_filesystem, 16);
export type GetWatcherEventsResponse = Message<"filesystem.GetWatcherEventsResponse"> & {
  events: FilesystemEvent[];
};
export const GetWatcherEventsResponseSchema: GenMessage<GetWatcherEventsResponse> = /*@__PURE__*/
  messageDesc(file_filesystem, 17);
export type RemoveWatcherRequest = Message<"filesystem.RemoveWatcherRequest"> & {
  watcherId: string;
};
export const RemoveWatcherRequestSchema: GenMessage<RemoveWatcherRequest> = /*@__PURE__*/
  messageDesc(file_filesystem, 18);
export type RemoveWatcherResponse = Message<"filesystem.RemoveWatcherResponse"> & {};
export const RemoveWatcherResponseSchema: GenMessage<RemoveWatcherResponse> = /*@__PURE__*/
  messageDesc(file_filesystem, 19);
export enum FileType {
  UNSPECIFIED = 0,
  FILE = 1,
  DIRECTORY = 2,
  SYMLINK = 3,
}
export const FileTypeSchema: GenEnum<FileType> = /*@__PURE__*/
  enumDesc(file_filesystem, 0);
export enum EventType {
  UNSPECIFIED = 0,
  CREATE = 1,
  WRITE = 2,
  REMOVE = 3,
  RENAME = 4,
  CHMOD = 5,
}
export const EventTypeSchema: GenEnum<EventType> = /*@__PURE__*/
  enumDesc(file_filesystem, 1);
export const Filesystem: GenService<{
  stat: {
    methodKind: "unary";
    input: typeof StatRequestSchema;
    output: typeof StatResponseSchema;
  };
  listDir: {
    methodKind: "unary";
    input: typeof ListDirRequestSchema;
    output: typeof ListDirResponseSchema;
  };
  makeDir: {
    methodKind: "unary";
    input: typeof MakeDirRequestSchema;
    output: typeof MakeDirResponseSchema;
  };
  move: {
    methodKind: "unary";
    input: typeof MoveRequestSchema;
    output: typeof MoveResponseSchema;
  };
  remove: {
    methodKind: "unary";
    input: typeof RemoveRequestSchema;
    output: typeof RemoveResponseSchema;
  };
  watchDir: {
    methodKind: "server_streaming";
    input: typeof WatchDirRequestSchema;
    output: typeof WatchDirResponseSchema;
  };
  createWatcher: {
    methodKind: "unary";
    input: typeof CreateWatcherRequestSchema;
    output: typeof CreateWatcherResponseSchema;
  };
  getWatcherEvents: {
    methodKind: "unary";
    input: typeof GetWatcherEventsRequestSchema;
    output: typeof GetWatcherEventsResponseSchema;
  };
  removeWatcher: {
    methodKind: "unary";
    input: typeof RemoveWatcherRequestSchema;
    output: typeof RemoveWatcherResponseSchema;
  };
}> = /*@__PURE__*/
  serviceDesc(file_filesystem, 0);
