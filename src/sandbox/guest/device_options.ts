/** Handlers of Python's requests about its clocks. */
export interface ClockRequests {
  /** Sends SIGALRM after `afterMs`, and then every `everyMs`. 0 stops it. */
  setAlarm(afterMs: number, everyMs: number): void;
  /** Sends the signal of timers after so much time of each clock. 0 stops it. */
  setTimers(cpuMs: number, wallMs: number): void;
  /** Sets the zone of local times. */
  setZone(zone: Uint8Array): void;
}

/** Handlers of Python's requests about commands of the shell. */
export interface CommandRequests {
  /** Handles a request. Returns 0 or an error code. */
  handle(operation: string, request: Uint8Array): number;
  /** Returns the next event of a command, empty if there is none. */
  nextEvent(number: number): Uint8Array;
  /** Returns the numbers of the commands that have new events. */
  takeNews(): Uint8Array;
}

/** Options of the devices of a session. */
export interface DevicesOptions {
  readonly outputBytes: number;
  readonly interrupt: Uint8Array;
  readonly clocks: ClockRequests;
  /**
   * Returns the size of the memory that programs see, in bytes.
   *
   * @default the size of the memory, which earlier programs of the session may have grown
   */
  readonly visibleMemoryBytes?: () => number;
  /** Hosts that the profile lists; `undefined` if the profile has no network. */
  readonly allowedHosts?: readonly string[] | undefined;
}
