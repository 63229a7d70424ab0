import type { JSX } from 'preact';
import type { Live } from '../../api/use-live.ts';
import { Button } from '../../parts/button.tsx';
import { formatClock } from '../../parts/text/formats.ts';
import { Icon } from '../../parts/icon.tsx';

/** Above what is shown from before, while the gateway does not answer. */
export function ConnectionLost({ live: { error, updated, reload } }: { live: Live<unknown> }): JSX.Element {
  return (
    <div class="run-connection" role="status">
      {error !== undefined && updated !== undefined && (
        <div class="problem">
          <Icon name="alert" />
          <div>
            <p>{error.message}</p>
            <p class="soft small">This is as it was at {formatClock(updated)}. It is asked for again every few seconds.</p>
          </div>
          <Button isSmall icon="refresh" onClick={reload}>
            Try now
          </Button>
        </div>
      )}
    </div>
  );
}
