import { expect, it } from 'vitest';
import { decideEgress } from '../../../src/policy/outbound/egress.ts';

const url = new URL('https://tools.corp.test/client.json');
const requested = { kind: 'request', mayReachPrivate: false } as const;

it.each([
  { mode: 'public', allow: [url.origin] },
  { mode: 'any', allow: [] },
] as const)('what callers may address is not open to strangers, who reach public addresses alone: %j', (rules) => {
  expect(decideEgress(url, requested, rules)).toEqual({ isAllowed: true, reach: 'private' });
  expect(decideEgress(url, { kind: 'stranger' }, rules)).toEqual({ isAllowed: true, reach: 'public' });
});

it('strangers reach nothing where requests may name no servers', () => {
  expect(decideEgress(url, { kind: 'stranger' }, { mode: 'none', allow: [url.origin] })).toMatchObject({ isAllowed: false });
});
