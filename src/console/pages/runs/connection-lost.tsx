import type { JSX } from 'preact';
import type { Live } from '../../api/use-live.ts';
import { Button } from '../../parts/button.tsx';
import { formatClock } from '../../parts/text/formats.ts';
import { Icon } from '../../parts/icon.tsx';

/** Shown above older data while the gateway does not respond. */
export function ConnectionLost({ live: { error, updated, reload } }: { live: Live<unknown> }): JSX.Element {
  return (
    <div class="run-connection" role="status">
      {error !== undefined && updated !== undefined && (
        <div class="problem">
          <Icon name="alert" />
          <div>
            <p>{error.message}</p>
            <p class="soft small">Last updated at {formatClock(updated)}. Retrying every few seconds.</p>
          </div>
          <Button isSmall icon="refresh" onClick={reload}>
            Try again
          </Button>
        </div>
      )}
    </div>
  );
}
