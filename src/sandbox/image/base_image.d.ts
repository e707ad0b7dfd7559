// The part of base_image.ts that a sandbox uses. See docs/decisions/hand_written_types.md.
import type { Profile } from "../profile/profile.ts";

export interface BaseImageOptions {
  readonly cacheDir: string;
  onBuild?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
}

export interface BaseImage {
  readonly directory: string;
  readonly manifest: {
    readonly image?: { readonly sha256: string };
    readonly interpreterLoop: number;
  };
  readonly files: Readonly<Record<string, readonly [bytes: number, changedMs: number]>>;
}

export const SUPERVISOR: string;

export function ensureBaseImage(profile: Profile, options: BaseImageOptions): Promise<BaseImage>;
export function dropBaseImage(image: BaseImage): Promise<void>;
export function isUnchanged(image: BaseImage): boolean;
