// Written by `deno task guest-manifest`, which follows the imports of the files. Do not edit.
import assets from "../guest/assets.ts" with { type: "text" };
import build from "../guest/build.ts" with { type: "text" };
import callGuard from "../guest/call_guard.ts" with { type: "text" };
import channel from "../guest/channel.ts" with { type: "text" };
import fileTree from "../guest/checkpoint/file_tree.ts" with { type: "text" };
import guestCheckpoint from "../guest/checkpoint/guest_checkpoint.ts" with { type: "text" };
import heapDelta from "../guest/checkpoint/heap_delta.ts" with { type: "text" };
import monotonicClock from "../guest/checkpoint/monotonic_clock.ts" with { type: "text" };
import openFiles from "../guest/checkpoint/open_files.ts" with { type: "text" };
import parts from "../guest/checkpoint/parts.ts" with { type: "text" };
import virtualChannel from "../guest/clock/virtual_channel.ts" with { type: "text" };
import virtualClock from "../guest/clock/virtual_clock.ts" with { type: "text" };
import virtualRealm from "../guest/clock/virtual_realm.ts" with { type: "text" };
import virtualSignals from "../guest/clock/virtual_signals.ts" with { type: "text" };
import connections from "../guest/connections.ts" with { type: "text" };
import denials from "../guest/denials.ts" with { type: "text" };
import devices from "../guest/devices.ts" with { type: "text" };
import entropy from "../guest/entropy.ts" with { type: "text" };
import errno from "../guest/errno.ts" with { type: "text" };
import bootId from "../guest/files/boot_id.ts" with { type: "text" };
import fileQuota from "../guest/files/file_quota.ts" with { type: "text" };
import fileSnapshot from "../guest/files/file_snapshot.ts" with { type: "text" };
import homeFiles from "../guest/files/home_files.ts" with { type: "text" };
import readOnlyFiles from "../guest/files/read_only_files.ts" with { type: "text" };
import workingFolder from "../guest/files/working_folder.ts" with { type: "text" };
import heapImage from "../guest/heap_image.ts" with { type: "text" };
import moduleUrls from "../guest/module_urls.ts" with { type: "text" };
import networkRules from "../guest/network_rules.ts" with { type: "text" };
import outbox from "../guest/outbox.ts" with { type: "text" };
import interpreter from "../guest/python/interpreter.ts" with { type: "text" };
import linker from "../guest/python/linker.ts" with { type: "text" };
import localTime from "../guest/python/local_time.ts" with { type: "text" };
import mainFunctions from "../guest/python/main_functions.ts" with { type: "text" };
import maxThreads from "../guest/python/max_threads.ts" with { type: "text" };
import moduleState from "../guest/python/module_state.ts" with { type: "text" };
import sideModule from "../guest/python/side_module.ts" with { type: "text" };
import signals from "../guest/python/signals.ts" with { type: "text" };
import stack from "../guest/python/stack.ts" with { type: "text" };
import threads from "../guest/python/threads.ts" with { type: "text" };
import realm from "../guest/realm.ts" with { type: "text" };
import rewind from "../guest/rewind.ts" with { type: "text" };
import ring from "../guest/ring.ts" with { type: "text" };
import session from "../guest/session.ts" with { type: "text" };
import stdin from "../guest/stdin.ts" with { type: "text" };
import allowedCalls from "../guest/supervisor/allowed_calls.ts" with { type: "text" };
import confine from "../guest/supervisor/confine.ts" with { type: "text" };
import supervisor from "../guest/supervisor/supervisor.ts" with { type: "text" };
import wallClock from "../guest/wall_clock.ts" with { type: "text" };
import worker from "../guest/worker.ts" with { type: "text" };
import workerLink from "../guest/worker_link.ts" with { type: "text" };
import broker from "../network/broker/broker.ts" with { type: "text" };
import dial from "../network/broker/dial.ts" with { type: "text" };
import egressConnection from "../network/broker/egress_connection.ts" with { type: "text" };
import egressPolicy from "../network/broker/egress_policy.ts" with { type: "text" };
import exchange from "../network/broker/exchange.ts" with { type: "text" };
import guardedResponses from "../network/broker/guarded_responses.ts" with { type: "text" };
import outputWindow from "../network/broker/output_window.ts" with { type: "text" };
import publicAddress from "../network/broker/public_address.ts" with { type: "text" };
import recorder from "../network/broker/recorder.ts" with { type: "text" };
import replayConnection from "../network/broker/replay_connection.ts" with { type: "text" };
import requestCollector from "../network/broker/request_collector.ts" with { type: "text" };
import requestGate from "../network/broker/request_gate.ts" with { type: "text" };
import requestHead from "../network/broker/request_head.ts" with { type: "text" };
import responseReader from "../network/broker/response_reader.ts" with { type: "text" };
import responseTracker from "../network/broker/response_tracker.ts" with { type: "text" };
import responseWatch from "../network/broker/response_watch.ts" with { type: "text" };
import secretGuard from "../network/broker/secret_guard.ts" with { type: "text" };
import packets from "../network/packets.ts" with { type: "text" };
import protocol from "../protocol.ts" with { type: "text" };

/** Texts of the guest's files by name, each after those that it imports. */
export type GuestSources = Readonly<Record<string, string>>;

/** Files of the process that holds the workers. */
export const SUPERVISOR_FILES: GuestSources = {
  protocol,
  module_urls: moduleUrls,
  assets,
  allowed_calls: allowedCalls,
  confine,
  ring,
  outbox,
  worker_link: workerLink,
  supervisor,
};

/** Files of the process that makes connections. */
export const BROKER_FILES: GuestSources = {
  network_rules: networkRules,
  protocol,
  packets,
  egress_policy: egressPolicy,
  public_address: publicAddress,
  dial,
  exchange,
  output_window: outputWindow,
  request_head: requestHead,
  request_collector: requestCollector,
  request_gate: requestGate,
  response_reader: responseReader,
  guarded_responses: guardedResponses,
  recorder,
  secret_guard: secretGuard,
  response_tracker: responseTracker,
  response_watch: responseWatch,
  egress_connection: egressConnection,
  replay_connection: replayConnection,
  broker,
};

/** Files of an interpreter's worker. */
export const WORKER_FILES: GuestSources = {
  realm,
  protocol,
  call_guard: callGuard,
  ring,
  read_only_files: readOnlyFiles,
  denials,
  side_module: sideModule,
  linker,
  local_time: localTime,
  main_functions: mainFunctions,
  stack,
  max_threads: maxThreads,
  signals,
  virtual_clock: virtualClock,
  virtual_signals: virtualSignals,
  threads,
  heap_image: heapImage,
  heap_delta: heapDelta,
  wall_clock: wallClock,
  interpreter,
  build,
  outbox,
  channel,
  monotonic_clock: monotonicClock,
  virtual_channel: virtualChannel,
  virtual_realm: virtualRealm,
  network_rules: networkRules,
  connections,
  home_files: homeFiles,
  stdin,
  devices,
  entropy,
  file_quota: fileQuota,
  working_folder: workingFolder,
  boot_id: bootId,
  parts,
  open_files: openFiles,
  file_snapshot: fileSnapshot,
  module_state: moduleState,
  rewind,
  file_tree: fileTree,
  guest_checkpoint: guestCheckpoint,
  errno,
  session,
  worker,
};
