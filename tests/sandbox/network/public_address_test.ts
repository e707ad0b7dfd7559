import { assertEquals } from "@std/assert";
import { isPublicAddress } from "../../../src/sandbox/network/broker/public_address.ts";

const PUBLIC = [
  "1.1.1.1",
  "8.8.8.8",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "223.255.255.255",
  "100.63.255.255",
  "2606:4700::1111",
  "2a00:1450:4001:80b::200e",
  "2001:4860:4860::8888",
];

const REFUSED = [
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "127.0.0.1",
  "127.255.255.255",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.8",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.1.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.7",
  "203.0.113.9",
  "224.0.0.1",
  "239.255.255.250",
  "255.255.255.255",
  // Other forms of numbers, which other readers take for addresses
  "2130706433",
  "0x7f000001",
  "127.1",
  "0177.0.0.1",
  "010.8.8.8",
  "8.8.8.8 ",
  "8.8.8.8/32",
  "",
  // IPv6: unspecified, loopback, mapped, compatible, NAT64, local, multicast, 6to4, Teredo, documentation, zones
  "::",
  "::1",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "::ffff:7f00:1",
  "::8.8.8.8",
  "64:ff9b::8.8.8.8",
  "64:ff9b:1::1",
  "100::1",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "fc00::1",
  "fd00:ec2::254",
  "ff02::1",
  "2002:7f00:1::",
  "2002:808:808::1",
  "2001::1",
  "2001:10::1",
  "2001:db8::1",
  "3fff::1",
  "2606:4700::1::1",
  "2606:4700:1:2:3:4:5",
  "2606:4700:1:2:3:4:5:6:7",
  "2606:4700::12345",
];

Deno.test("isPublicAddress() accepts only addresses of the public internet, in their usual form", () => {
  assertEquals(PUBLIC.filter((address) => !isPublicAddress(address)), []);
  assertEquals(REFUSED.filter((address) => isPublicAddress(address)), []);
});
