import type { SealedThought, ThoughtSeals } from '../../core/chat/thought.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';
import { createSecretCipher } from './encrypt-secrets.ts';

/** Distinguishes the texts from those of other servers, which a client may have from another conversation. */
const mark = 'toolwharf.';

/** Encrypts what clients return unread, so that they can neither read nor change it, and no other caller can use it. */
export function createThoughtSeals(secret: string): ThoughtSeals {
  const cipher = createSecretCipher(secret, 'thought');
  return {
    seal: (id, sealed) => mark + cipher.encrypt(JSON.stringify(sealed), { id, field: 'thought' }),
    open(id, text) {
      if (!text.startsWith(mark)) return undefined;
      const opened = cipher.decrypt(text.slice(mark.length), { id, field: 'thought' });
      return opened === undefined ? undefined : (parseExactly(opened) as SealedThought);
    },
    isOwn: (text) => text.startsWith(mark),
  };
}
