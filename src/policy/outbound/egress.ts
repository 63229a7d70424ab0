import type { Trust } from '../../core/outbound.ts';
import { literalClass, type AddressClass } from './classify-address.ts';

/** The operator's rules for tool servers that a request supplies. */
export interface EgressRules {
  /** `TOOL_SERVER_EGRESS`: public addresses, any, or no server that is not in `allow`. */
  mode: 'public' | 'any' | 'none';
  /** `TOOL_SERVER_ALLOW`: origins that a request may always name, private ones included. */
  allow: readonly string[];
}

/** How far one call may go: `private` means everything but link-local and metadata addresses. */
export type Reach = 'public' | 'private';

/** Trust whose reach is known: that of `linked` is found by the addresses of the server that refers to it. */
export type DecidedTrust = Exclude<Trust, { kind: 'linked' }> | { kind: 'linked'; reach: Reach };

export type EgressDecision = { isAllowed: true; reach: Reach } | { isAllowed: false; message: string };

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
    case 'stranger':
      return decideRequested(url, false, { ...rules, allow: [], mode: rules.mode === 'none' ? 'none' : 'public' });
  }
}

function decideLinked(url: URL, reach: Reach, rules: EgressRules): EgressDecision {
  if (isAlwaysAllowed(url, rules)) return { isAllowed: true, reach: 'private' };
  if (!isBlockedPort(url)) return { isAllowed: true, reach };
  const reason = `A tool server refers to ${url.origin}, whose port belongs to a protocol other than HTTP.`;
  return { isAllowed: false, message: `${reason} ${cureFor(url.origin, rules)}` };
}

function isAlwaysAllowed(url: URL, rules: EgressRules): boolean {
  return rules.allow.some((allowed) => originOf(allowed) === url.origin);
}

function decideConfigured(url: URL, configured: string): EgressDecision {
  if (originOf(configured) === url.origin) return { isAllowed: true, reach: 'private' };
  return {
    isAllowed: false,
    message: `A connection that is registered for ${originOf(configured) ?? 'nothing'} may not address ${url.origin}. Change its URL, if that is where the server is now.`,
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
    return `${origin} has a ${kind} address, where credentials can be read. So it is always refused, and no setting allows it.`;
  }
  const kind = addressClass === 'other' ? 'reserved' : addressClass;
  const rule =
    trust.kind === 'linked'
      ? 'a tool server on a public address may refer to public ones only'
      : 'servers that come with a request may only have public ones';
  return `${origin} has a ${kind} address, and ${rule}. ${cureFor(origin, rules)}`;
}

/** The same for a name that leads to no public address and for one that does not exist: the difference would reveal the names of the local network. */
export function explainHiddenName(origin: string, rules: EgressRules): string {
  const reason = `${origin} has no public address: its name does not exist, or leads to a private network, and servers that come with a request may only have public ones.`;
  return `${reason} Check the spelling. ${cureFor(origin, rules)}`;
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

/** What a server at addresses of these classes may refer to: private ones only if none of its own is public. */
export function reachFrom(classes: readonly AddressClass[]): Reach {
  return classes.length > 0 && classes.every((found) => found === 'private' || found === 'loopback') ? 'private' : 'public';
}

/**
 * Ports of other protocols, some of which would execute lines of an HTTP request as commands, for example to send mail in the gateway's name.
 * The "bad ports" of the WHATWG Fetch standard, section "Port blocking", which every browser refuses, and in the last line those of databases, caches
 * and queues, which it lacks: a firewall that keeps browsers from them lets the gateway pass.
 */
const blockedPorts = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117,
  119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
  989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
  1433, 1521, 3306, 4222, 5432, 5672, 6379, 9042, 11211, 11300, 27017,
]);

function isBlockedPort(url: URL): boolean {
  return url.port !== '' && blockedPorts.has(Number(url.port));
}
