import { lookup as lookupByDns, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { LRUCache } from 'lru-cache';
import { classifyAddress, type AddressClass } from './classify-address.ts';
import { isReachable, reachFrom, type Reach } from './egress.ts';

/** Far more than the tool servers and backends of one gateway. */
const maxPublicHosts = 10_000;

/** An address that is not allowed. The request adds the message, because it knows the origin and the rules. */
export class AddressRefused extends Error {
  readonly addressClass: AddressClass;

  constructor(addressClass: AddressClass) {
    super(`The address is ${addressClass}`);
    this.name = 'AddressRefused';
    this.addressClass = addressClass;
  }
}

export interface NameResolver {
  /** For connections: only the addresses within this reach, all others are left out. */
  lookupWithin(reach: Reach): LookupFunction;
  /** What a server at this origin may refer to. */
  reachFrom(origin: string): Promise<Reach>;
}

/** `lookup`: tests replace it. */
export function createNameResolver(lookup: LookupFunction = lookupByDns): NameResolver {
  /**
   * Hosts that have had a public address. Whoever answers for a name can change the answer with each question, so a server that was once reached at a public
   * address, or could have been, may never refer to a private one later. `maxSize` instead of `max`, for which
   * the cache would allocate all places at once.
   */
  const publicHosts = new LRUCache<string, true>({ maxSize: maxPublicHosts, sizeCalculation: () => 1 });

  /** None if the name cannot be resolved. */
  const judge = (hostname: string, options: LookupOptions, take: (error: Error | null, judged: Judged[]) => void): void =>
    lookup(hostname, { ...options, all: true }, (error, answers) => {
      const found = error !== null || typeof answers === 'string' ? [] : answers;
      const judged = found.map((entry): Judged => ({ entry, addressClass: classifyAddress(entry.address) }));
      if (judged.some(({ addressClass }) => addressClass === 'public')) publicHosts.set(hostname, true);
      take(error, judged);
    });

  return {
    // Leaves forbidden addresses out instead of refusing the name: names with a link-local address beside a good one are common in home networks.
    lookupWithin: (reach) => (hostname, options, callback) =>
      judge(hostname, options, (error, judged) => {
        if (error !== null) return callback(error, []);
        const [first, ...others] = judged.filter(({ addressClass }) => isReachable(addressClass, reach)).map(({ entry }) => entry);
        if (first === undefined) return callback(new AddressRefused(judged[0]?.addressClass ?? 'other'), []);
        return options.all === true ? callback(null, [first, ...others]) : callback(null, first.address, first.family);
      }),

    async reachFrom(origin) {
      const host = URL.parse(origin)?.hostname.replace(/^\[(?<address>.*)\]$/u, '$<address>') ?? '';
      if (isIP(host) !== 0) return reachFrom([classifyAddress(host)]);
      const { promise, resolve } = Promise.withResolvers<Judged[]>();
      judge(host, {}, (_error, judged) => resolve(judged));
      const classes = (await promise).map(({ addressClass }) => addressClass);
      return publicHosts.has(host) ? 'public' : reachFrom(classes);
    },
  };
}

interface Judged {
  entry: LookupAddress;
  addressClass: AddressClass;
}
