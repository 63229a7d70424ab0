import { basePath } from './base-path.ts';
import { readItem, writeItem } from '../storage/local-items.ts';
import { credential } from './credential.ts';

/** Marks that a program has been seen, because the gateway counts from its start on. */
const seenItem = 'program-seen';
/** The routes that programs use and this console does not. */
const routes =
  /route="(?:\/v1\/(?:chat\/completions|completions|responses|messages)|\/api\/(?:v1\/)?chat(?:\/completions)?|\/api\/generate|\/mcp)"/;

export function wasProgramSeen(): boolean {
  return readItem(seenItem) !== undefined;
}

/** Whether a program has asked this gateway something successfully. Only administrators may know; for others it is false. */
export async function findProgram(signal: AbortSignal): Promise<boolean> {
  const headers = credential.value === undefined ? {} : { authorization: `Bearer ${credential.value}` };
  const response = await fetch(`${basePath}/metrics`, { credentials: 'omit', headers, signal });
  const isFound = response.ok && (await response.text()).split('\n').some(isAnsweredRequest);
  if (isFound) writeItem(seenItem, 'yes');
  return isFound;
}

function isAnsweredRequest(line: string): boolean {
  return (
    line.startsWith('toolwharf_http_requests_total{') && line.includes('method="POST"') && /status="2\d\d"/.test(line) && routes.test(line)
  );
}
