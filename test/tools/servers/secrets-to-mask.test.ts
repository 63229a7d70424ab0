import { expect, test } from 'vitest';
import { createSecretMask } from '../../../src/shared/secrets/secret-mask.ts';
import { sessionSecrets } from '../../../src/tools/servers/secrets-to-mask.ts';

const { text } = createSecretMask(sessionSecrets(true));
const head = 'eyJhbGciOiJFZERTQSIs';

test('a session token is hidden, also behind an escape', () => {
  expect(text(`Bearer%20${head}abc.claims-1.signature_2 and`)).toBe('Bearer%20[secret] and');
});

test.each([head.repeat(200_000), `${head.repeat(25)}.${'a'.repeat(8_000)}`.repeat(480)])(
  'a text of many beginnings of one is read once',
  (hostile) => {
    // Work that grew with the square of the text would run into the time limit of the test.
    expect(text(hostile)).not.toBe('');
  },
);
