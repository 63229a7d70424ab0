import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { CryptoKey } from 'jose';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/core/errors.ts';
import { createTokenVerifier } from '../../src/policy/verify-token.ts';
import type { OutboundResponse } from '../../src/core/outbound.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { jsonResponse, scriptedSend } from '../tools/scripted-send.ts';

const url = 'https://id.example/keys';

/** A provider with a key set, and a verifier whose clock moves only while it waits. */
async function scene() {
  const pairs = new Map<string, CryptoKey>();
  const published: JsonObject[] = [];
  const publish = async (kid: string): Promise<void> => {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    pairs.set(kid, privateKey);
    published.push({ ...((await exportJWK(publicKey)) as JsonObject), kid, alg: 'ES256' });
  };
  await publish('first');
  const keySet = (): OutboundResponse => jsonResponse({ keys: [...published] });
  let answer = async (): Promise<OutboundResponse> => keySet();
  /** The next reads get the key set as it is now, once the function returned is called. */
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const now = keySet();
    answer = () => promise.then(() => now);
    return () => {
      answer = async () => keySet();
      resolve();
    };
  };
  const { send, requests } = scriptedSend({ [url]: () => answer() });
  const clock = { ms: 1_800_000_000_000 };
  /** Waits that have begun and not ended. */
  const waits: (() => void)[] = [];
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      waits.push(() => {
        clock.ms += ms;
        resolve();
      });
    });
  const verifier = createTokenVerifier({ send, now: () => clock.ms, wait });
  const tokenOf = (kid: string, signedBy = kid): Promise<string> =>
    new SignJWT({ sub: 'ada' })
      .setProtectedHeader({ alg: 'ES256', kid })
      .setExpirationTime(clock.ms / 1_000 + 300)
      .sign(pairs.get(signedBy) ?? new Uint8Array());
  let lookups = 0;
  const key = {
    get keySetUrl() {
      lookups += 1;
      return url;
    },
  };
  /** Waits until so many tokens in all have been looked up in the key set that was read last. */
  const lookedUp = async (tokens: number): Promise<void> => {
    await expect.poll(() => lookups).toBe(tokens);
    // From the address to the key everything that the verifier waits for is inside of this turn of the event loop.
    await new Promise((resolve) => void setImmediate(resolve));
  };
  const verify = async (token: Promise<string>): Promise<'accepted' | 'refused'> => {
    const refuse = (why: string): GatewayError => new GatewayError('invalid_api_key', why);
    try {
      await verifier.verify(await token, { key, algorithms: ['ES256'], refuse });
      return 'accepted';
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'invalid_api_key') return 'refused';
      throw error;
    }
  };
  const forge = (name: string) => verify(tokenOf(name, 'first'));
  return { publish, verify, tokenOf, forge, lookedUp, clock, waits, requests, hold };
}

describe('a key set', () => {
  it('is read again for a key that it does not have, and for further ones only after a while', async () => {
    const { publish, verify, tokenOf, forge, waits, requests } = await scene();
    expect(await verify(tokenOf('first'))).toBe('accepted');
    await publish('second');
    expect(await verify(tokenOf('second'))).toBe('accepted');
    expect(requests).toHaveLength(2);
    const forged = forge('invented');
    await expect.poll(() => waits.length).toBe(1);
    expect(requests).toHaveLength(2);
    waits.shift()?.();
    expect(await forged).toBe('refused');
    expect(requests).toHaveLength(3);
  });

  it('is read once for all who wait, and a new key is among them however many are invented', async () => {
    const { publish, verify, tokenOf, forge, lookedUp, waits, requests } = await scene();
    expect(await verify(tokenOf('first'))).toBe('accepted');
    expect(await forge('invented')).toBe('refused');
    const forged = Array.from({ length: 100 }, (_, index) => forge(`invented-${index}`));
    await publish('second');
    const genuine = verify(tokenOf('second'));
    await lookedUp(103);
    expect(waits).toHaveLength(1);
    waits.shift()?.();
    expect(await genuine).toBe('accepted');
    expect(new Set(await Promise.all(forged))).toEqual(new Set(['refused']));
    expect(requests).toHaveLength(3);
    expect(waits).toHaveLength(0);
  });

  it('is not waited for by tokens whose key the latest read did not bring', async () => {
    const { verify, tokenOf, forge, waits, requests, clock } = await scene();
    expect(await verify(tokenOf('first'))).toBe('accepted');
    for (let tries = 0; tries < 10; tries += 1) expect(await forge('gone')).toBe('refused');
    expect([requests.length, waits.length]).toEqual([2, 0]);
    clock.ms += 60_000;
    expect(await forge('gone')).toBe('refused');
    expect(requests).toHaveLength(3);
  });

  it('is read once more for whoever came while it was being read, since their key may be newer', async () => {
    const { publish, verify, tokenOf, forge, lookedUp, waits, requests, hold } = await scene();
    expect(await verify(tokenOf('first'))).toBe('accepted');
    const answer = hold();
    const forged = forge('invented');
    await expect.poll(() => requests.length).toBe(2);
    await publish('second');
    const genuine = verify(tokenOf('second'));
    await lookedUp(3);
    answer();
    expect(await forged).toBe('refused');
    await expect.poll(() => waits.length).toBe(1);
    waits.shift()?.();
    expect(await genuine).toBe('accepted');
    expect(requests).toHaveLength(3);
  });
});
