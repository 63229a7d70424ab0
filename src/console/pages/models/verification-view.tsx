import type { JSX } from 'preact';
import type { AnswerOf } from '../../api/api-types.ts';
import { Icon } from '../../parts/icon.tsx';
import { formatCount } from '../../parts/text/formats.ts';
import { VisibleText } from '../../parts/text/visible-text.tsx';
import { WithCode } from '../../parts/text/with-code.tsx';
import { ModelTable } from './model-table.tsx';

export type Verification = AnswerOf<'POST /api/backends/verify'>;

/** How the servers of a backend answered, and the models that they have. */
export function VerificationView({ report }: { report: Verification }): JSX.Element {
  const { models, model_details: details, servers, warnings } = report;
  const faulty = servers.flatMap(({ url, fault, cure }) => (fault === undefined ? [] : [{ url, fault, cure }]));
  return (
    <div class="stack">
      {faulty.map(({ url, fault, cure }) => (
        <div key={url} class="problem" role="alert">
          <Icon name="alert" />
          <div>
            <p>
              {servers.length > 1 && <span class="mono small">{url} </span>}
              <VisibleText text={fault} />
            </p>
            {cure !== undefined && (
              <p>
                <WithCode text={cure} />
              </p>
            )}
          </div>
        </div>
      ))}
      {warnings.map((warning) => (
        <div key={warning} class="notice">
          <Icon name="alert" />
          <p>
            <WithCode text={warning} />
          </p>
        </div>
      ))}
      {models.length > 0 && (
        <p role="status">
          <strong>It works.</strong> {formatCount(models.length, 'model')}:
        </p>
      )}
      {models.length > 0 && <ModelTable models={details} />}
    </div>
  );
}
