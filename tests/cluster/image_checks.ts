import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { SandboxError } from "../../src/errors.ts";
import { loadKv, loadObjects } from "../../src/cluster/nats/client.ts";
import { NatsPeer } from "../../src/cluster/nats/nats_peer.ts";
import { NatsPool } from "../../src/cluster/nats_pool.ts";
import { shareImage } from "../../src/cluster/shared_image.ts";
import { baseImageName } from "../../src/sandbox/image/base_image.ts";
import { loadProfile } from "../../src/sandbox/profile/profile.ts";
import { TempFolder } from "../temp_folder.ts";
import { options, startNode, whenNodes } from "./cluster.ts";
import { NatsServer } from "./nats_server.ts";

const key = crypto.getRandomValues(new Uint8Array(32));

Deno.test(
  "a session continues on a host that has built another base image, as nodes share one",
  options,
  async () => {
    await using folder = await TempFolder.of();
    await using nats = await NatsServer.start();
    const keyFile = join(folder.path, "key");
    await Deno.writeFile(keyFile, key);
    const start = (host: string) =>
      startNode(nats, "--cache-dir", join(folder.path, host), "--checkpoint-key-file", keyFile);
    await using first = await start("one");
    await using pool = await NatsPool.connect({ servers: nats.url });
    await whenNodes(pool, (nodes) => nodes.length === 1);
    await using lease = await pool.acquire({ checkpointEvery: "exec" });
    await lease.session.exec("x = ['kept']");
    await using _second = await start("two");
    await whenNodes(pool, (nodes) => nodes.length === 2);
    assertEquals(new Set(pool.nodes.map(({ image }) => image)).size, 1);
    first.child.kill("SIGKILL");
    await whenNodes(pool, (nodes) => nodes.length === 1);
    const result = await lease.session.exec("x");
    assertEquals([result.status === "ok" && result.value, result.restoredFrom?.lostCalls], ["['kept']", 0]);
  },
);

Deno.test(
  "nodes that start at the same time use one image, and none that is not signed with their key",
  options,
  async (t) => {
    await using folder = await TempFolder.of();
    await using nats = await NatsServer.start();
    await using peer = await NatsPeer.connect({ servers: nats.url }, "test");
    const profile = await loadProfile("serve");
    const name = await baseImageName(profile);
    const share = (host: string, with_ = key) =>
      shareImage(peer, { profile, cacheDir: join(folder.path, host), key: with_ });
    const digestOf = async (cacheDir: string) => {
      const bytes = await Deno.readFile(join(cacheDir, name, "image.bin"));
      return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
    };
    const digests = await Promise.all(["a", "b"].map(async (host) => await digestOf(await share(host))));
    assertEquals(new Set(digests).size, 1);
    assertEquals(await digestOf(await share("a")), digests[0]);
    assertEquals(await digestOf(await share("c")), digests[0]);
    await t.step("another key is refused", async () => {
      const other = crypto.getRandomValues(new Uint8Array(32));
      await assertRejects(() => share("d", other), SandboxError, "it has another signature");
    });
    await t.step("changed bytes are refused, also with their own hash", async () => {
      const { Objm } = await loadObjects();
      const { Kvm } = await loadKv();
      const hashes = await new Kvm(peer.nats).create(peer.subjects.imageHashesBucket, {
        ttl: 0,
        history: 1,
        maxValueSize: 128,
        storage: "file",
      });
      const hash = new TextDecoder().decode((await hashes.get(name))?.value);
      const objects = await new Objm(peer.nats).create(peer.subjects.imagesBucket, {
        max_bytes: 1024 ** 3,
        storage: "file",
      });
      const found = await objects.get(hash);
      assert(found);
      const bytes = new Uint8Array(await new Response(found.data as unknown as BodyInit).arrayBuffer());
      bytes[bytes.length - 5] = (bytes[bytes.length - 5] ?? 0) ^ 1;
      const forged = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
      for (const at of [hash, forged]) {
        await objects.putBlob({ name: at, metadata: { ...found.info.metadata } }, bytes);
        await hashes.put(name, at);
        await assertRejects(() => share(`e-${at}`), SandboxError, "it has another signature");
      }
      await hashes.put(name, "0".repeat(64));
      await assertRejects(() => share("f"), SandboxError, "it is missing");
    });
  },
);
