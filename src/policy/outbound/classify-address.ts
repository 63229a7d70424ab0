import ipaddr from 'ipaddr.js';

/**
 * `private`: routed only in a local network (RFC 1918, RFC 4193, RFC 6598). `loopback`: this host. `metadata`: a cloud service that hands
 * out credentials. `other`: no server has such an address (multicast, documentation, reserved). Only `public` is routed everywhere.
 */
export type AddressClass = 'public' | 'private' | 'loopback' | 'link-local' | 'metadata' | 'other';

/** Metadata services outside 169.254.0.0/16: Alibaba, Azure, Oracle, Volcengine. The last octets are hosts, not ranges. */
const metadataIPv4 = new Set(['100.100.100.200', '168.63.129.16', '192.0.0.192', '100.96.0.96', '169.254.169.254', '169.254.170.2']);
/** Amazon (instances, containers), Google, Oracle, Linode, Scaleway; in the spelling of RFC 5952. */
const metadataIPv6 = new Set(['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 'fd00:a9fe:a9fe::1', 'fd00:42::42']);

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
const localTranslation = ipaddr.IPv6.parseCIDR('64:ff9b:1::/48');
const sixToFour = ipaddr.IPv6.parseCIDR('2002::/16');
const teredo = ipaddr.IPv6.parseCIDR('2001::/32');
/** IPv4-compatible, IPv4-mapped, IPv4-translated (RFC 4291, RFC 6145) and NAT64 (RFC 6052): the IPv4 address is at the end. */
const endsInIPv4 = ['::/96', '::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96'].map((range) => ipaddr.IPv6.parseCIDR(range));

/** Where RFC 6052 puts the IPv4 address for prefixes of 48, 56, 64 and 96 bits. */
const translationPositions = [
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
];

/**
 * The class of an address from a parser, resolver or socket. Decided by its bytes, including IPv4 addresses within IPv6 ones, because rules on the
 * text could be bypassed by another spelling. Anything that is not an address is `other`.
 */
export function classifyAddress(ip: string): AddressClass {
  if (!ipaddr.isValid(ip)) return 'other';
  const address = ipaddr.parse(ip);
  return address instanceof ipaddr.IPv4 ? classifyIPv4(address.octets) : classifyIPv6(address);
}

function classifyIPv4(octets: number[]): AddressClass {
  const address = new ipaddr.IPv4(octets);
  const text = address.toString();
  if (metadataIPv4.has(text)) return 'metadata';
  // Connecting to "no address" reaches this host.
  if (text === '0.0.0.0') return 'loopback';
  const range = address.range();
  if (range === 'unicast') return 'public';
  if (range === 'loopback') return 'loopback';
  if (range === 'linkLocal') return 'link-local';
  return range === 'private' || range === 'carrierGradeNat' ? 'private' : 'other';
}

function classifyIPv6(address: ipaddr.IPv6): AddressClass {
  const text = new ipaddr.IPv6(address.parts).toRFC5952String();
  if (metadataIPv6.has(text)) return 'metadata';
  if (text === '::' || text === '::1') return 'loopback';
  const embedded = embeddedIPv4(address);
  if (embedded !== undefined) return classifyIPv4(embedded);
  if (address.match(localTranslation)) return classifyLocalTranslation(address.toByteArray());
  const range: string = address.range();
  if (range === 'linkLocal') return 'link-local';
  if (range === 'uniqueLocal' || range === 'deprecatedSiteLocal') return 'private';
  // The library also reports unassigned ranges as "unicast".
  return range === 'unicast' && address.match(globalUnicast) ? 'public' : 'other';
}

function embeddedIPv4(address: ipaddr.IPv6): number[] | undefined {
  const bytes = address.toByteArray();
  if (endsInIPv4.some((range) => address.match(range))) return bytes.slice(12);
  if (address.match(sixToFour)) return bytes.slice(2, 6);
  // RFC 4380 section 4: the client's address is stored inverted.
  return address.match(teredo) ? bytes.slice(12).map((byte) => byte ^ 0xff) : undefined;
}

/** RFC 8215 leaves the prefix length to the network, so every position is checked; the translator itself is local. */
function classifyLocalTranslation(bytes: number[]): AddressClass {
  const classes = translationPositions.map((positions) => classifyIPv4(positions.map((position) => bytes[position] ?? 0)));
  return classes.find((found) => found === 'metadata' || found === 'link-local') ?? 'private';
}

/**
 * The class of a parsed host that is an address; undefined for a name. The URL parser has already turned `2130706433`, `0x7f.1` and
 * the like into plain addresses.
 */
export function literalClass(hostname: string): AddressClass | undefined {
  const host = hostname.replace(/^\[(?<address>.*)\]$/u, '$<address>');
  return ipaddr.isValid(host) ? classifyAddress(host) : undefined;
}
