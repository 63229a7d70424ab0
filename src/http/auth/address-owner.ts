import ipaddr from 'ipaddr.js';

/** Of the eight parts of an IPv6 address, those of its network: one customer has all addresses of a /64. */
const networkParts = 4;

/**
 * Who a request without a caller counts as, where callers have shares: its address, in IPv6 within the group of its network. All that comes through one
 * proxy is one owner.
 */
export function addressOwner(ip: string): string {
  if (!ip.includes(':') || !ipaddr.isValid(ip)) return `address ${ip}`;
  const address = ipaddr.process(ip);
  if (address instanceof ipaddr.IPv4) return `address ${address.toString()}`;
  const network = address.parts.slice(0, networkParts).map((part) => part.toString(16));
  return `address ${network.join(':')}/${ip}`;
}
