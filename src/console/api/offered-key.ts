import { confirm } from '../parts/confirm.ts';
import { keyInFragment } from './key-in-fragment.ts';
import { showToast } from '../parts/toasts.tsx';
import { nameOf } from './caller.ts';
import { credential } from './credential.ts';
import { saveKey, key, keyPattern } from './key.ts';
import { hasSignedIn, readyLogin } from './login.ts';

/**
 * The link of a start ends in `#key=…`. The key is taken out of the address and the history. It is kept where this browser has no other one; otherwise
 * somebody may have made the link so that what is done here is done as them, and the person is asked, with both names.
 */
export async function takeKeyFromAddress(): Promise<void> {
  const given = keyInFragment(location.hash);
  if (given === null || !new RegExp(`^${keyPattern}$`).test(given)) return;
  history.replaceState(history.state, '', location.pathname + location.search);
  if (given === key.value) return;
  if (key.value === undefined && !hasSignedIn()) return saveKey(given);
  if (key.value === undefined) await readyLogin();
  const own = credential.value;
  if (own === undefined) return saveKey(given);
  const [mine, theirs] = await Promise.all([nameOf(own), nameOf(given)]);
  // Somebody has signed in or out meanwhile.
  if (credential.value !== own) return;
  if (await isWanted(mine, theirs)) saveKey(given);
}

/** `mine`: undefined where the gateway does not take what this browser has. */
async function isWanted(mine: string | undefined, theirs: string | undefined): Promise<boolean> {
  if (theirs === undefined) {
    const name = mine === undefined ? '' : ` You are still ${mine}.`;
    showToast(`The key of the link you followed was not used: this gateway does not take it.${name}`, 'problem');
    return false;
  }
  const now = mine === undefined ? 'The key in this browser is not taken any more.' : `You are ${mine}.`;
  return confirm({
    title: 'Use the key of this link?',
    text: `${now} The link you followed has the key of ${theirs}. What you do here is then done as ${theirs}, and whoever has that key can read it. Use it only if the link is from somebody you trust.`,
    action: `Use the key of ${theirs}`,
  });
}
