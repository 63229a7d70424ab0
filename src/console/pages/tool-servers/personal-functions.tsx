import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useQuery } from '../../api/use-query.ts';
import { Button } from '../../parts/button.tsx';
import { openConnectPage } from '../../api/open-connect-page.ts';
import { Loaded } from '../../parts/states.tsx';
import { showError } from '../../parts/toasts.tsx';
import { VisibleText } from '../../parts/text/visible-text.tsx';
import type { TriedFunction } from './try-function.tsx';

/** While the connect page may be open in another tab, the state is reloaded this often. */
const refreshMs = 3_000;

interface PersonalFunctionsProps {
  id: string;
  /** Its functions are the same for everyone, and listed elsewhere on the page. */
  isListed: boolean;
  onTry: (fn: TriedFunction) => void;
}

/** A server that each person uses with their own credential: connects to it, and lists its functions for this person. */
export function PersonalFunctions({ id, isListed, onTry }: PersonalFunctionsProps): JSX.Element {
  const [isWaiting, setWaiting] = useState(false);
  const query = useQuery('GET /api/credentials', isWaiting ? { everyMs: refreshMs } : {});
  return (
    <section class="card stack own-functions">
      <Loaded query={query}>
        {({ data }) => {
          const isConnected = data.some(({ server, state }) => server === id && state === 'connected');
          return (
            <>
              <div class="row">
                <p class="grow">
                  {isConnected
                    ? 'You are connected. Calls from this page use your own credential.'
                    : 'Each user needs their own credential for this server. You are not connected yet.'}
                </p>
                <Button
                  kind={isConnected ? 'plain' : 'main'}
                  icon="external"
                  onClick={() => {
                    setWaiting(true);
                    openConnectPage(id).catch(showError);
                  }}
                >
                  {isConnected ? 'Reconnect' : 'Connect'}
                </Button>
              </div>
              {isConnected && !isListed && <Functions id={id} onTry={onTry} />}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

function Functions({ id, onTry }: Pick<PersonalFunctionsProps, 'id' | 'onTry'>): JSX.Element {
  const query = useQuery('GET /api/tools');
  return (
    <Loaded query={query}>
      {({ data }) => (
        <ul class="report-functions" aria-label="Functions">
          {data
            .filter(({ server }) => server === id)
            .map((fn) => (
              <li key={fn.id}>
                <div class="report-function">
                  <span class="report-words">
                    <span class="report-name mono">
                      <VisibleText text={fn.name} isName />
                    </span>
                    <span class="soft small report-about">
                      <VisibleText text={fn.description} />
                    </span>
                  </span>
                  <Button isSmall onClick={() => onTry({ ...fn, name: fn.id.slice(fn.id.indexOf('/') + 1) })}>
                    Try
                  </Button>
                </div>
              </li>
            ))}
        </ul>
      )}
    </Loaded>
  );
}
