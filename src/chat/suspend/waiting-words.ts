import type { PendingApproval } from '../../core/user-input/approval.ts';
import type { PendingConnect, ServerToConnect } from '../../core/user-input/connect.ts';
import type { WaitingCall } from '../../core/runs/suspended-run.ts';
import { visibleText } from '../../shared/visible-text.ts';

// What a person reads at the end of an answer whose run waits for them.

/** Before the link that decides, which has a line of its own. */
export const decideWords = 'Decide here: ';

/** Characters of arguments that are shown; the page of the approval shows all of them. */
const shownCharacters = 200;

/** Which calls wait for an approval. */
export function approvalWords(calls: readonly WaitingCall[]): string {
  const shown = calls.map(({ tool, args }) => {
    const text = visibleText(JSON.stringify(args));
    return `${tool}(${text.length > shownCharacters ? `${text.slice(0, shownCharacters).toWellFormed()}…` : text})`;
  });
  return `Waiting for your approval: ${shown.join(', ')}.`;
}

/** The link ends the text and has a line of its own, so that every frontend makes it one that can be clicked. */
export function approvalLink({ url }: PendingApproval): string {
  return url === undefined ? withoutAddress('decide') : `${decideWords}${url}`;
}

/** To which tool servers the caller has to connect. */
export function connectWords(servers: readonly ServerToConnect[]): string {
  const names = servers.map(({ name }) => oneLine(name)).join(' and ');
  return `To go on, connect to ${names}. When that is done, the answer goes on here, or after your next message.`;
}

/** A line for each server. */
export function connectLinks({ servers }: PendingConnect): string {
  const links = servers.flatMap(({ name, url }) => (url === undefined ? [] : [`Connect to ${oneLine(name)}: ${url}`]));
  return links.length === 0 ? withoutAddress('connect') : links.join('\n\n');
}

function withoutAddress(what: 'decide' | 'connect'): string {
  return `There is no link to ${what} with, because the gateway does not know its own address: its operator has to set PUBLIC_URL.`;
}

function oneLine(name: string): string {
  return name.replaceAll(/\s+/g, ' ');
}
