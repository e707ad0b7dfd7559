import { RunFolder } from "../../src/viewer/run_folder.ts";
import { viewerApp } from "../../src/viewer/viewer_app.tsx";
import type { TempFolder } from "../temp_folder.ts";

/** The pages of a folder. */
export type Viewer = ReturnType<typeof viewerApp>;

/** Opens the pages of a folder. */
export async function openViewer(folder: TempFolder, signal?: AbortSignal): Promise<Viewer> {
  return viewerApp({ folder: await RunFolder.open(folder.path), signal });
}

/** Requests a page. */
export async function readPage(
  viewer: Viewer,
  path: string,
): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await viewer.request(path);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** Requests a page again until its file is read. */
export async function readIndexedPage(viewer: Viewer, path: string): ReturnType<typeof readPage> {
  for (;;) {
    const page = await readPage(viewer, path);
    if (page.status !== 202) return page;
  }
}
