import { expect, it } from 'vitest';
import { emptyDraft, toBody, toDraft } from '../../src/console/pages/keys/key-draft.ts';
import type { Key } from '../../src/console/pages/keys/key-draft.ts';

const plain: Key = {
  id: 'key_1',
  name: 'ada',
  role: 'user',
  origin: 'database',
  first_characters: null,
  created_at: '2026-11-01T00:00:00.000Z',
  expires_at: null,
  models: null,
  tools: null,
  limits: null,
  total_limits: null,
  users: null,
};

it.each<[what: string, fields: Partial<Key>]>([
  ['a plain key', {}],
  ['an administrator', { role: 'admin' }],
  ['limits and restrictions', { limits: { requests_per_minute: 60, tokens_per_day: 100_000 }, models: ['demo'], tools: [] }],
  [
    'people by a header',
    {
      users: { from: 'header', name: 'x-id', name_header: 'x-name', email_header: null },
      limits: { concurrent_runs: 2 },
      total_limits: { tokens_per_day: 1 },
    },
  ],
])('a form that nothing was changed in asks for the key as it is: %s', (_what, fields) => {
  const key = { ...plain, ...fields };
  const draft = toDraft(key);
  const { name, role, models, tools, limits, total_limits, users } = key;
  expect(toBody(draft, draft)).toEqual({ name, role, models, tools, limits, total_limits, users });
});

it('a secret that nobody wrote stays, one that is written is sent, and an address takes its place', () => {
  const users = { from: 'jwt' as const, name: 'x-token', claim: 'sub', jwks_url: null, issuer: 'https://a.test', audience: null };
  const draft = toDraft({ ...plain, users: { ...users, has_secret: true } });
  const asked = { from: 'jwt', name: 'x-token', claim: 'sub', issuer: 'https://a.test', audience: null };
  expect(toBody(draft, draft).users).toEqual(asked);
  expect(toBody({ ...draft, secret: 's'.repeat(32) }, draft).users).toEqual({ ...asked, secret: 's'.repeat(32) });
  const jwksUrl = 'https://a.test/jwks';
  expect(toBody({ ...draft, signedBy: 'jwks', jwksUrl }, draft).users).toEqual({ ...asked, jwks_url: jwksUrl });
});

it('a last day ends at its midnight, and is sent only where it was changed', () => {
  const draft = toDraft({ ...plain, expires_at: '2026-11-30T10:00:00.000Z' });
  expect(draft.lastDay).toBe('2026-11-30');
  expect(toBody(draft, draft)).not.toHaveProperty('expires_at');
  expect(toBody({ ...draft, lastDay: '2026-12-01' }, draft).expires_at).toBe('2026-12-01T23:59:59Z');
  expect(toBody({ ...draft, lastDay: '' }, draft).expires_at).toBeNull();
});

it('a key that speaks for nobody has no limits for all together, whatever was written before', () => {
  const before = emptyDraft(false);
  const limits = { ...before.limits, tokens_per_day: '5' };
  expect(toBody({ ...before, name: 'x', totalLimits: limits }, before).total_limits).toBeNull();
});
