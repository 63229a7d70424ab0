import { expect, it } from 'vitest';
import { loggedPath } from '../../../src/http/logged-path.ts';
import { countSteps } from '../../_support/count-steps.ts';

const secret = 'a'.repeat(43);

it.each([
  ['/v1/models', '/v1/models'],
  ['/v1/models?key=secret', '/v1/models'],
  [`/approvals/run.${secret}`, '/approvals/run.[secret]'],
  [`/approvals/run.${secret}?a=b`, '/approvals/run.[secret]'],
  [`/approvals/${'r'.repeat(150)}.${secret}/more`, `/approvals/${'r'.repeat(150)}.[secret]/more`],
  [`/connect/${secret}`, '/connect/[secret]'],
  [`//CONNECT//${secret}/more`, '//CONNECT//[secret]'],
  [`/v1/${'x'.repeat(300)}`, `/v1/${'x'.repeat(196)}`],
  [`/${'/'.repeat(14_000)}connect/${secret}`, '/'.repeat(200)],
  [`/${'x'.repeat(180)}/connect/${secret}`, `/${'x'.repeat(180)}/connect/[secret]`],
])('of %s the log shows %s', (url, shown) => {
  expect(loggedPath(url)).toBe(shown);
});

it('a secret is hidden wherever it begins', () => {
  for (let before = 0; before < 260; before += 1) {
    expect(loggedPath(`/${'x'.repeat(before)}.${secret}`)).not.toContain(secret.slice(0, 20));
    expect(loggedPath(`/${'x'.repeat(before)}/connect/${secret}`)).not.toContain(secret.slice(0, 20));
  }
});

it('of a path of many slashes no more is looked through than may be shown', () => {
  const stepsFor = (slashes: number): number => countSteps(() => loggedPath('/'.repeat(slashes)));
  // Control: those that are shown are looked at.
  expect(stepsFor(250)).toBeGreaterThan(250);
  expect(stepsFor(14_000)).toBeLessThan(2 * stepsFor(300));
});
