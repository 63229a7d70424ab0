import { describe, expect, it } from 'vitest';
import { createSecretMask } from '../../../src/shared/secrets/secret-mask.ts';

const key = 'c4nary/"key+1';

describe('a mask of secrets', () => {
  it.each([
    ['as it was sent', `Bearer ${key}`, `said Bearer ${key}!`],
    ['without its scheme', `Bearer ${key}`, `said ${key}!`],
    ['as in an address', key, `/x?key=${encodeURIComponent(key)}!`],
    ['as in an address, in lower case', key, `/x?key=${encodeURIComponent(key).toLowerCase()}!`],
    ['within a text of JSON', key, `{"said":${JSON.stringify(key)}}!`],
    ['in base64', key, `said ${Buffer.from(key).toString('base64')}!`],
    ['in base64 for addresses', key, `said ${Buffer.from(key).toString('base64url')}!`],
    ['in an address that keeps its slashes', `${key} 2`, `/x?key=${encodeURI(`${key} 2`)}!`],
    ['in a form', `${key} ~2`, `key=${encodeURIComponent(`${key} ~2`).replaceAll('%20', '+').replaceAll('~', '%7E')}!`],
    ['within a text of JSON by PHP', key, `{"said":${JSON.stringify(key).replaceAll('/', String.raw`\/`)}}!`],
    ['within HTML', `${key}<&>'`, `said ${key.replaceAll('"', '&quot;')}&lt;&amp;&gt;&#39;!`],
    ['the password of Basic', `Basic ${Buffer.from('me:correct-horse').toString('base64')}`, 'said correct-horse!'],
    ['the pair of Basic', `Basic ${Buffer.from('me:correct-horse').toString('base64')}`, 'said me:correct-horse!'],
    ['the credentials of Basic', 'me:correct-horse', `said ${Buffer.from('me:correct-horse').toString('base64')}!`],
    ['of a cookie', 'session=correct-horse', 'said correct-horse!'],
  ])('hides one %s', (_form, secret, text) => {
    const { text: mask } = createSecretMask([secret]);
    expect(mask(text)).toMatch(/^[^c]*\[secret\]=*"?\}?!$/);
    expect(createSecretMask(['something-else']).text(text)).toBe(text);
  });

  it('hides names and values at every level, and leaves everything else the same object', () => {
    const { value } = createSecretMask(['correct-horse']);
    const clean = { a: [1, 'x', null, { b: true }] };
    expect(value(clean)).toBe(clean);
    expect(value({ clean, 'x-correct-horse': ['a correct-horse'] })).toEqual({ clean, 'x-[secret]': ['a [secret]'] });
  });

  it('looks at a part that stands at many places once', () => {
    let nested: Record<string, unknown> = { end: 'correct-horse' };
    for (let level = 0; level < 60; level += 1) nested = { left: nested, right: nested };
    let masked = createSecretMask(['correct-horse']).value(nested as never) as Record<string, never>;
    for (let level = 0; level < 60; level += 1) masked = masked['left'] as unknown as typeof masked;
    expect(masked).toEqual({ end: '[secret]' });
  });

  it('keeps the length of bytes, and finds it in the base64 of a data: URL', () => {
    const mask = createSecretMask(['correct-horse']);
    const bytes = Buffer.from([0, 1, ...Buffer.from('correct-horse'), 255, ...Buffer.from('correct-horse')]);
    const masked = Buffer.from(mask.bytes(bytes));
    expect(masked).toHaveLength(bytes.length);
    expect(masked.toString('latin1')).toBe('\0\u0001*************ÿ*************');
    expect(bytes.includes('correct-horse'), 'what was given is not changed').toBe(true);
    const url = `data:image/png;base64,${bytes.toString('base64')}`;
    expect(mask.dataUrl(url)).toBe(`data:image/png;base64,${masked.toString('base64')}`);
    expect(mask.dataUrl('data:image/png;base64,AAEC')).toBe('data:image/png;base64,AAEC');
  });

  it.each(['', 'a', 'ab', 'abc', '{"authorization":"Bearer '])('hides it in the base64 of more, behind "%s"', (before) => {
    const secret = 'correct-horse-battery-staple?>';
    const { text: mask } = createSecretMask([secret]);
    for (const form of ['base64', 'base64url'] as const) {
      const masked = mask(Buffer.from(`${before}${secret}"}`).toString(form));
      expect(masked).toContain('[secret]');
      expect(Buffer.from(masked.replace('[secret]', ''), form).toString()).not.toMatch(/orrect|horse|stapl/);
    }
  });

  it('does not hide short words, nor the names of schemes', () => {
    const { text, isEmpty } = createSecretMask(['', 'key', 'Bearer abcdefgh', 'a=b']);
    expect(text('the key of a Bearer: a=b, Basic')).toBe('the key of a Bearer: a=b, Basic');
    expect(isEmpty).toBe(false);
    expect(createSecretMask(['', 'key']).isEmpty).toBe(true);
  });
});
