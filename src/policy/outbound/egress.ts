import ipaddr from 'ipaddr.js';

import type { Trust } from '../../core/outbound.ts';

/** The operator's rules for tool servers that a request supplies. */
export interface EgressRules {
  /** `TOOL_SERVER_EGRESS`: public addresses, any, or no server that is not in `allow`. */
  mode: 'public' | 'any' | 'none';
  /** `TOOL_SERVER_ALLOW`: origins that a request may always name, private ones included. */
  allow: readonly string[];
}

/**
 * `private`: routed only in a local network (RFC 1918, RFC 4193, RFC 6598). `loopback`: this host. `metadata`: a cloud service that hands
 * out credentials. `other`: no server has such an address (multicast, documentation, reserved). Only `public` is routed everywhere.
 */
export type AddressClass = 'public' | 'private' | 'loopback' | 'link-local' | 'metadata' | 'other';

/** How far one call may go: `private` means everything but link-local and metadata addresses. */
export type Reach = 'public' | 'private';

/** Trust whose reach is known: that of `linked` is found by the addresses of the server that leads there. */
export type DecidedTrust = Exclude<Trust, { kind: 'linked' }> | { kind: 'linked'; reach: Reach };

export type EgressDecision = { isAllowed: true; reach: Reach } | { isAllowed: false; message: string };

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

export function isReachable(addressClass: AddressClass, reach: Reach): boolean {
  if (addressClass === 'link-local' || addressClass === 'metadata') return false;
  return addressClass === 'public' || reach === 'private';
}

/**
 * Whether a request may be sent, and to which addresses. The decision is final for a URL whose host is an IP address; for a name, its addresses must
 * be checked with `reach` (`isReachable`) once they are resolved. The message names the setting that would allow it.
 */
export function decideEgress(url: URL, trust: DecidedTrust, rules: EgressRules): EgressDecision {
  const decision = decide(url, trust, rules);
  if (!decision.isAllowed) return decision;
  const addressClass = literalClass(url.hostname);
  if (addressClass === undefined || isReachable(addressClass, decision.reach)) return decision;
  return { isAllowed: false, message: explainRefusal(url.origin, addressClass, { trust, rules }) };
}

function decide(url: URL, trust: DecidedTrust, rules: EgressRules): EgressDecision {
  switch (trust.kind) {
    case 'configured':
      return decideConfigured(url, trust.origin);
    case 'linked':
      return decideLinked(url, trust.reach, rules);
    case 'request':
      return decideRequested(url, trust.mayReachPrivate, rules);
  }
}

function decideLinked(url: URL, reach: Reach, rules: EgressRules): EgressDecision {
  if (isAlwaysAllowed(url, rules)) return { isAllowed: true, reach: 'private' };
  if (!isBlockedPort(url)) return { isAllowed: true, reach };
  const reason = `A tool server leads to ${url.origin}, and its port belongs to another protocol than HTTP.`;
  return { isAllowed: false, message: `${reason} ${cureFor(url.origin, rules)}` };
}

function isAlwaysAllowed(url: URL, rules: EgressRules): boolean {
  return rules.allow.some((allowed) => originOf(allowed) === url.origin);
}

function decideConfigured(url: URL, configured: string): EgressDecision {
  if (originOf(configured) === url.origin) return { isAllowed: true, reach: 'private' };
  return {
    isAllowed: false,
    message: `A connection that is registered for ${originOf(configured) ?? 'nothing'} may not address ${url.origin}.`,
  };
}

function decideRequested(url: URL, mayReachPrivate: boolean, rules: EgressRules): EgressDecision {
  if (isAlwaysAllowed(url, rules)) return { isAllowed: true, reach: 'private' };
  if (rules.mode === 'none') {
    const reason = `${url.origin} came with a request, and TOOL_SERVER_EGRESS=none refuses such servers.`;
    return { isAllowed: false, message: `${reason} ${cureFor(url.origin, rules)}` };
  }
  if (isBlockedPort(url)) {
    const reason = `${url.origin} came with a request, and its port belongs to another protocol than HTTP.`;
    return { isAllowed: false, message: `${reason} ${cureFor(url.origin, rules)}` };
  }
  return { isAllowed: true, reach: rules.mode === 'any' || mayReachPrivate ? 'private' : 'public' };
}

/** Names the class but not the address behind a name: a refusal must not reveal the local network. */
export function explainRefusal(
  origin: string,
  addressClass: AddressClass,
  { trust, rules }: { trust: Pick<Trust, 'kind'>; rules: EgressRules },
): string {
  if (addressClass === 'link-local' || addressClass === 'metadata') {
    const kind = addressClass === 'metadata' ? 'cloud metadata' : 'link-local';
    return `${origin} leads to a ${kind} address, where credentials can be read. So it is always refused, and no setting allows it.`;
  }
  const kind = addressClass === 'other' ? 'reserved' : addressClass;
  const rule =
    trust.kind === 'linked'
      ? 'a tool server on a public address leads to public ones only'
      : 'servers that come with a request may only have public ones';
  return `${origin} leads to a ${kind} address, and ${rule}. ${cureFor(origin, rules)}`;
}

function cureFor(origin: string, rules: EgressRules): string {
  const note = rules.allow.length === 0 ? '' : ' (in addition to its current entries, separated by a comma)';
  return `To allow it, set${note}: TOOL_SERVER_ALLOW=${origin}`;
}

/** The normalized origin of a URL; undefined for anything but an `http:` or `https:` URL. */
export function originOf(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed?.protocol === 'http:' || parsed?.protocol === 'https:' ? parsed.origin : undefined;
}

/** Where a server at addresses of these classes leads: to private ones only if it is on none that is public. */
export function reachFrom(classes: readonly AddressClass[]): Reach {
  return classes.length > 0 && classes.every((found) => found === 'private' || found === 'loopback') ? 'private' : 'public';
}

/**
 * The class of a parsed host that is an address; undefined for a name. The URL parser has already turned `2130706433`, `0x7f.1` and
 * the like into plain addresses.
 */
function literalClass(hostname: string): AddressClass | undefined {
  const host = hostname.replace(/^\[(?<address>.*)\]$/u, '$<address>');
  return ipaddr.isValid(host) ? classifyAddress(host) : undefined;
}

/**
 * Ports of other protocols, some of which would execute lines of an HTTP request as commands, for example to send mail in the gateway's name.
 * "Bad ports" of the WHATWG Fetch standard, section "Port blocking", which every browser refuses.
 */
const blockedPorts = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117,
  119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
  989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

function isBlockedPort(url: URL): boolean {
  return url.port !== '' && blockedPorts.has(Number(url.port));
}
