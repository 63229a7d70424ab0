import { expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import { lastLinkIn, withoutLinks } from '../../../src/chat/suspend/links-in-messages.ts';
import { countSteps } from '../../_support/count-steps.ts';

const secret = (letter: string): string => `${letter}.${'x'.repeat(43)}`;
const said = (content: string): ChatMessage => ({ role: 'user', content });

it.each([
  ['in a sentence', `See http://a.test/approvals/${secret('a')}, please.`, secret('a'), 'See [link], please.'],
  ['at the very beginning', `/approvals/${secret('a')}`, secret('a'), '[link]'],
  ['before one that is cut', `/approvals/${secret('a')} /approvals/b.xx`, secret('a'), '[link] /approvals/b.xx'],
  ['in brackets', `[a](http://a.test/approvals/${secret('a')})`, secret('a'), '[a]([link])'],
  ['after a wide space', `see\u3000http://a.test/approvals/${secret('a')}`, secret('a'), 'see\u3000[link]'],
  ['with words of another script in its address', `http://é.test/approvals/${secret('a')}`, secret('a'), '[link]'],
  ['side by side', `/approvals/${secret('a')}/approvals/${secret('b')}`, secret('b'), '[link][link]'],
  ['nowhere', '/approvals/ and /approvals/a.b', undefined, '/approvals/ and /approvals/a.b'],
])('finds and removes a link %s', (_, text, link, left) => {
  expect(lastLinkIn(said(text))).toBe(link);
  expect(withoutLinks(said(text)).content).toBe(left);
});

it('searches the last link of a text with many from its end', () => {
  const message = said(`http://a.test/approvals/${secret('a')} `.repeat(10_000));
  expect(countSteps(() => void lastLinkIn(message))).toBeLessThan(10_000);
});
