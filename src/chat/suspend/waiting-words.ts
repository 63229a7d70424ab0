import type { PendingApproval } from '../../core/user-input/approval.ts';
import type { PendingConnect, ServerToConnect } from '../../core/user-input/connect.ts';
import type { WaitingCall } from '../../core/runs/suspended-run.ts';
import { visibleText } from '../../shared/text/visible-text.ts';

// The text at the end of an answer whose run waits for a person.

/** Stands before the link that decides, on the same line. */
export const decideWords = 'Decide here: ';

/** Characters of the arguments that are shown; the approval page shows all of them. */
const shownCharacters = 200;

/** Names the calls that wait for an approval. */
export function approvalWords(calls: readonly WaitingCall[]): string {
  const shown = calls.map(({ tool, args }) => {
    const text = visibleText(JSON.stringify(args));
    return `${tool}(${text.length > shownCharacters ? `${text.slice(0, shownCharacters).toWellFormed()}…` : text})`;
  });
  return `Waiting for your approval: ${shown.join(', ')}.`;
}

/** The link ends the text and has a line of its own, so that every frontend makes it clickable. */
export function approvalLink({ url }: PendingApproval): string {
  return url === undefined ? withoutAddress('decide') : `${decideWords}${url}`;
}

/** Asks the caller to connect to tool servers. */
export function connectWords(servers: readonly ServerToConnect[]): string {
  const names = servers.map(({ name }) => oneLine(name)).join(' and ');
  return `To continue, connect to ${names}. After that, the answer continues here or with your next message.`;
}

/** A line for each server. */
export function connectLinks({ servers }: PendingConnect): string {
  const links = servers.flatMap(({ name, url }) => (url === undefined ? [] : [`Connect to ${oneLine(name)}: ${url}`]));
  return links.length === 0 ? withoutAddress('connect') : links.join('\n\n');
}

function withoutAddress(action: 'decide' | 'connect'): string {
  return `There is no link to ${action} with, because the gateway does not know its own address: its operator has to set PUBLIC_URL.`;
}

function oneLine(name: string): string {
  return name.replaceAll(/\s+/g, ' ');
}
