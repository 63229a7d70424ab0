import { confirm } from '../parts/confirm.ts';
import { keyInFragment } from './key-in-fragment.ts';
import { showToast } from '../parts/toasts.tsx';
import { nameOf } from './caller.ts';
import { credential } from './credential.ts';
import { saveKey, key, keyPattern } from './key.ts';
import { hasSignedIn, readyLogin } from './login.ts';

/**
 * The link that is printed at startup ends in `#key=…`. The key is removed from the address and the history. If this browser has no other key, it is saved.
 * Otherwise an attacker may have made the link so that the person works under the attacker's key, so the person is asked, with both names.
 */
export async function takeKeyFromAddress(): Promise<void> {
  const offered = keyInFragment(location.hash);
  if (offered === null || !new RegExp(`^${keyPattern}$`).test(offered)) return;
  history.replaceState(history.state, '', location.pathname + location.search);
  if (offered === key.value) return;
  if (key.value === undefined && !hasSignedIn()) return saveKey(offered);
  if (key.value === undefined) await readyLogin();
  const current = credential.value;
  if (current === undefined) return saveKey(offered);
  const [mine, theirs] = await Promise.all([nameOf(current), nameOf(offered)]);
  // The person has signed in or out meanwhile.
  if (credential.value !== current) return;
  if (await isWanted(mine, theirs)) saveKey(offered);
}

/** `mine`: undefined if the gateway does not accept the key of this browser. */
async function isWanted(mine: string | undefined, theirs: string | undefined): Promise<boolean> {
  if (theirs === undefined) {
    const name = mine === undefined ? '' : ` You are still signed in as ${mine}.`;
    showToast(`The key in this link was not accepted by this gateway.${name}`, 'problem');
    return false;
  }
  const now = mine === undefined ? 'The key in this browser is no longer accepted.' : `You are signed in as ${mine}.`;
  return confirm({
    title: 'Use the key from this link?',
    text: `${now} This link contains the key of ${theirs}. If you use it, everything you do here is done as ${theirs} and visible to everyone who has that key. Use it only if you trust the sender.`,
    action: `Use the key of ${theirs}`,
  });
}
