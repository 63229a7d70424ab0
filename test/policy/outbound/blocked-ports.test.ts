import { describe, expect, it } from 'vitest';
import { decideEgress } from '../../../src/policy/outbound/egress.ts';

const requested = { kind: 'request', mayReachPrivate: true } as const;
const rules = { mode: 'any', allow: [] } as const;

describe('a port of another protocol', () => {
  it.each([22, 25, 110, 143, 465, 587, 2049, 5060, 6667, 10080, 3306, 5432, 6379, 11211, 27017])(
    '%d is refused to servers of a request, with the line that allows it',
    (port) => {
      const decision = decideEgress(new URL(`https://mail.test:${port}/x`), requested, rules);
      expect(decision).toEqual({ isAllowed: false, message: expect.stringContaining(`TOOL_SERVER_ALLOW=https://mail.test:${port}`) });
    },
  );

  it('is open where the operator names or registers it', () => {
    const url = new URL('http://mail.test:25/');
    expect(decideEgress(url, requested, { mode: 'none', allow: [url.origin] })).toMatchObject({ isAllowed: true });
    expect(decideEgress(url, { kind: 'configured', origin: url.origin }, rules)).toMatchObject({ isAllowed: true });
  });

  it.each(['http://tools.test/', 'https://tools.test/', 'http://tools.test:8080/', 'https://tools.test:8443/'])(
    'is none of %s',
    (address) => {
      expect(decideEgress(new URL(address), requested, rules)).toMatchObject({ isAllowed: true });
    },
  );
});
