import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { credential } from '../../api/credential.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { VisibleText } from '../../parts/text/visible-text.tsx';
import { showError } from '../../parts/toasts.tsx';

interface Asked {
  name: string | null;
  host: string;
  about: string;
  token: string;
}

const gone = 'This request has expired, or was made in another browser. Start again in the program.';

/** A program that has sent this browser to the gateway's page, which led here for the key of the console. `id`: of the request. */
export function ConsentRequest({ id, onClose }: { id: string; onClose: () => void }): JSX.Element | null {
  const [asked, setAsked] = useState<Asked>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    send<Asked>(id).then(setAsked, (error: unknown) => {
      showError(error);
      onClose();
    });
  }, [id]);
  if (asked === undefined) return null;
  const { name, host, about, token } = asked;
  const decide = async (answer: 'allow' | 'deny'): Promise<void> => {
    setBusy(true);
    try {
      const { location: next } = await send<{ location: string }>(id, { token, answer });
      location.assign(next);
    } catch (error) {
      showError(error);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title="Allow access to your tools?"
      onClose={onClose}
      actions={
        <>
          <Button isBusy={isBusy} onClick={() => void decide('deny')}>
            Refuse
          </Button>
          <Button kind="main" isBusy={isBusy} onClick={() => void decide('allow')}>
            Allow
          </Button>
        </>
      }
    >
      <p>A program asks to use the tools of this gateway as you. Your answer goes to</p>
      <p class="programs-host">
        <VisibleText text={host} />
      </p>
      <p>{about}</p>
      <p class="soft">
        It calls itself {name === null ? 'nothing' : <VisibleText text={name} />}. Anybody can choose a name. Continue only if you have just
        started this in that program.
      </p>
    </Dialog>
  );
}

/** With the cookie that the browser was given for this request, and the key of the console. */
async function send<Answer>(id: string, form?: Record<string, string>): Promise<Answer> {
  const response = await fetch(`/oauth/consent/${encodeURIComponent(id)}`, {
    method: form === undefined ? 'GET' : 'POST',
    headers: { accept: 'application/json', ...(credential.value !== undefined && { authorization: `Bearer ${credential.value}` }) },
    ...(form !== undefined && { body: new URLSearchParams(form) }),
  });
  if (response.ok) return (await response.json()) as Answer;
  throw new Error(response.status === 403 ? 'The key of the console does not work here. Enter your key on the page of the request.' : gone);
}
