import { dirname, join } from "node:path/posix";
import type { ChildCommand } from "./child_command.ts";

/** The process whose group is looked up, and where the kernel shows it. */
export interface CgroupSource {
  /**
   * Directory of the root group, version 2.
   *
   * @default "/sys/fs/cgroup"
   */
  root?: string | undefined;
  /**
   * File that names the group of this process.
   *
   * @default "/proc/self/cgroup"
   */
  own?: string | undefined;
  /**
   * User id of this process.
   *
   * @default Deno.uid()
   */
  uid?: number | null | undefined;
}

/**
 * Returns the directory of the group in which this process may make groups: the parent of the process's own
 * group, which belongs to the user of the process. systemd provides it for a service with `User=`,
 * `Delegate=memory` and `DelegateSubgroup=host`. As root, ownership does not show that a group was delegated,
 * so there is none.
 *
 * @throws {Error} if there is no such group; the message is the reason.
 */
export function delegatedGroup(source: CgroupSource = {}): string {
  const { root = "/sys/fs/cgroup", own = "/proc/self/cgroup", uid = Deno.uid() } = source;
  const path = Deno.readTextFileSync(own).split("\n").find((line) => line.startsWith("0::"))?.slice(3);
  if (path === undefined || path === "/") throw new Error("this process is in no group of its own");
  const parent = join(root, dirname(path));
  const { uid: owner } = Deno.statSync(parent);
  if (uid === 0 || owner !== uid) {
    throw new Error(`the group '${parent}' was not delegated to user ${uid}: its owner is user ${owner}`);
  }
  const controllers = Deno.readTextFileSync(join(parent, "cgroup.controllers")).trim().split(" ");
  if (!controllers.includes("memory")) {
    throw new Error(`the group '${parent}' has no controller 'memory': it has '${controllers.join(" ")}'`);
  }
  return parent;
}

/** Group of a process and of all that the process starts. The group's memory is limited. */
export class MemoryGroup implements Disposable {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Makes a group.
   *
   * @param parent Result of {@linkcode delegatedGroup}.
   * @param bytes Limit of resident memory. The kernel kills the whole group above it.
   */
  static create(parent: string, bytes: number): MemoryGroup {
    Deno.writeTextFileSync(join(parent, "cgroup.subtree_control"), "+memory");
    const directory = join(parent, `paddock-${crypto.randomUUID()}`);
    Deno.mkdirSync(directory);
    const group = new MemoryGroup(directory);
    group.#write("memory.max", String(bytes));
    group.#write("memory.oom.group", "1");
    try {
      group.#write("memory.swap.max", "0");
    } catch {
      // the kernel has no limit of swap
    }
    return group;
  }

  /** Returns the command line that enters the group and executes a command there. */
  enter({ program, args }: ChildCommand): ChildCommand {
    const script = 'echo $$ > "$0/cgroup.procs" && exec "$@"';
    return { program: "/bin/sh", args: ["-c", script, this.#directory, program, ...args] };
  }

  /** True if the kernel killed the group because of the limit. */
  get wasExceeded(): boolean {
    try {
      return /^oom_kill [1-9]/m.test(Deno.readTextFileSync(join(this.#directory, "memory.events")));
    } catch {
      return false;
    }
  }

  /** Removes the group. All processes of the group must have ended. */
  [Symbol.dispose](): void {
    try {
      Deno.removeSync(this.#directory);
    } catch {
      // a process of the group is still ending: systemd removes the group with the service
    }
  }

  #write(file: string, text: string): void {
    Deno.writeTextFileSync(join(this.#directory, file), text);
  }
}
