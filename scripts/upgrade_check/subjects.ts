/**
 * Test files that depend on internals of Pyodide and Deno, by subject, relative to the folder of the tests. A test
 * compares the list with the folders of these tests.
 */
export const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  "image": [
    "sandbox/image/archive_test.ts",
    "sandbox/image/base_image_test.ts",
    "sandbox/image/build_memory_sandbox_test.ts",
    "sandbox/image/guest_manifest_test.ts",
    "sandbox/image/function_table_test.ts",
    "sandbox/image/lean_factory_test.ts",
    "sandbox/image/linux_errors_test.ts",
    "sandbox/image/module_state_test.ts",
    "sandbox/image/preload_sandbox_test.ts",
    "sandbox/image/shell_bundle_sandbox_test.ts",
    "sandbox/image/shell_bundle_test.ts",
    "sandbox/image/sizes_test.ts",
    "sandbox/image/wasm_test.ts",
  ],
  "JSPI": [
    "sandbox/guest/alarms_sandbox_test.ts",
    "sandbox/guest/assets_test.ts",
    "sandbox/guest/call_guard_sandbox_test.ts",
    "sandbox/guest/clocks_sandbox_test.ts",
    "sandbox/guest/depth_sandbox_test.ts",
    "sandbox/guest/ring_test.ts",
    "sandbox/guest/signals_sandbox_test.ts",
    "sandbox/guest/stdin_sandbox_test.ts",
    "sandbox/guest/strftime_sandbox_test.ts",
    "sandbox/guest/wall_clock_test.ts",
    "sandbox/guest/threads_sandbox_test.ts",
  ],
  "native linker": [
    "sandbox/image/native_libraries_test.ts",
    "sandbox/profile/native_packages_sandbox_test.ts",
  ],
  "realm": [
    "escape/checkpoint_test.ts",
    "escape/direct_path_test.ts",
    "escape/escape_test.ts",
    "escape/protocol_test.ts",
    "escape/realm_test.ts",
    "escape/realm_without_flags_test.ts",
    "sandbox/guest/denials_sandbox_test.ts",
  ],
  "rewind": [
    "escape/hibernation_test.ts",
    "sandbox/guest/checkpoint/heap_delta_test.ts",
    "sandbox/guest/checkpoint/parse_test.ts",
    "sandbox/guest/leftovers_sandbox_test.ts",
    "sandbox/guest/rewind_sandbox_test.ts",
  ],
  "guest": [
    "sandbox/guest/commands_sandbox_test.ts",
    "sandbox/guest/graders_sandbox_test.ts",
    "sandbox/guest/missing_sandbox_test.ts",
    "sandbox/guest/multiprocessing_sandbox_test.ts",
    "sandbox/guest/native_sandbox_test.ts",
    "sandbox/guest/notebook_sandbox_test.ts",
    "sandbox/guest/processes_sandbox_test.ts",
    "sandbox/guest/shell/containment_sandbox_test.ts",
    "sandbox/guest/shell/git/git_sandbox_test.ts",
    "sandbox/guest/shell/rare_commands_sandbox_test.ts",
    "sandbox/guest/shell/shell_sandbox_test.ts",
  ],
  "process": [
    "sandbox/guest/allowed_calls_sandbox_test.ts",
    "sandbox/process/child_command_sandbox_test.ts",
    "sandbox/process/deno_program_sandbox_test.ts",
    "sandbox/process/layers_sandbox_test.ts",
    "sandbox/process/memory_cgroup_sandbox_test.ts",
    "sandbox/process/parent_death_sandbox_test.ts",
    "sandbox/process/speculation_sandbox_test.ts",
    "sandbox/process/walls_sandbox_test.ts",
  ],
  "worker": [
    "escape/edge_test.ts",
    "sandbox/guest/outbox_test.ts",
    "sandbox/guest/worker_link_test.ts",
    "sandbox/in_worker/bounded_wasm_test.ts",
    "sandbox/in_worker/worker_sandbox_test.ts",
  ],
};

/** Folders of tests whose files all belong to a subject. */
export const SUBJECT_FOLDERS: readonly string[] = [
  "escape",
  "sandbox/guest",
  "sandbox/image",
  "sandbox/in_worker",
  "sandbox/process",
];
