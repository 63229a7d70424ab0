import type { ComponentChildren, JSX } from 'preact';
import type { AnswerOf } from '../../api/api-types.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { formatBytes } from '../../parts/text/formats.ts';
import { VisibleText } from '../../parts/text/visible-text.tsx';
import { toCurl } from './curl.ts';
import { readBody } from './read-body.ts';

type RecordedRequest = NonNullable<AnswerOf<'POST /api/tools/*'>['requests']>[number];
type ServerResponse = NonNullable<RecordedRequest['answer']>;

/** The requests to the tool server. A call that was retried has several. */
export function SentRequests({ requests }: { requests: readonly RecordedRequest[] }): JSX.Element {
  if (requests.length === 0) return <p class="soft">No request was sent.</p>;
  return (
    <Each requests={requests}>
      {(request) => (
        <>
          <div class="recorded-line">
            {request.url === undefined ? (
              <span class="soft">A message over this server’s pipe or stream</span>
            ) : (
              <code class="grow">
                <strong>{request.method}</strong> <VisibleText text={request.url} />
              </code>
            )}
            {request.url !== undefined && <CopyButton text={() => toCurl(request)} label="Copy as curl" words="curl" />}
          </div>
          <Headers headers={request.headers} isOpen />
          <Body part={request} label="Request body" />
        </>
      )}
    </Each>
  );
}

/** The responses of the server, exactly as received. */
export function ServerResponses({ requests }: { requests: readonly RecordedRequest[] }): JSX.Element {
  if (requests.length === 0) return <p class="soft">No request was sent.</p>;
  return (
    <Each requests={requests}>
      {({ answer, failure }) => (
        <>
          {failure !== undefined && <p class="bad">{failure}</p>}
          {answer === undefined ? (
            failure === undefined && <p class="soft">No response was received.</p>
          ) : (
            <>
              {answer.status !== undefined && (
                <div class="recorded-line">
                  <span class={`chip ${answer.status < 400 ? 'good' : 'bad'}`}>{answer.status}</span>
                  <span class="soft small grow">{sizeOf(answer)}</span>
                </div>
              )}
              <Headers headers={answer.headers} />
              <Body part={answer} label="Response body" />
            </>
          )}
        </>
      )}
    </Each>
  );
}

function Each({
  requests,
  children,
}: {
  requests: readonly RecordedRequest[];
  children: (request: RecordedRequest) => ComponentChildren;
}): JSX.Element {
  return (
    <>
      {requests.map((request, index) => (
        <section key={index} class="stack recorded">
          {requests.length > 1 && <h4>{`Request ${index + 1} of ${requests.length}`}</h4>}
          {children(request)}
        </section>
      ))}
    </>
  );
}

function Headers({
  headers = {},
  isOpen = false,
}: {
  headers?: Readonly<Record<string, string>> | undefined;
  isOpen?: boolean;
}): JSX.Element | null {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return (
    <details open={isOpen}>
      <summary class="small">{`Headers (${entries.length})`}</summary>
      <dl class="recorded-headers mono">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <VisibleText text={value} />
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** JSON is shown indented, and copied as it was sent. */
function Body({ part, label }: { part: RecordedRequest | ServerResponse; label: string }): JSX.Element {
  const { body, truncated } = part;
  if (body === undefined) return <p class="soft small">No body.</p>;
  const { text, kind } = readBody(part);
  return (
    <div class="code-block">
      <div class="code-head">
        <span>
          {kind}
          {truncated === true && ' (beginning)'}
        </span>
        <CopyButton text={() => body} label="Copy original" />
      </div>
      <pre class="recorded-body" tabIndex={0} role="group" aria-label={label}>
        <code>
          <VisibleText text={text} />
        </code>
      </pre>
    </div>
  );
}

function sizeOf({ body = '', body_encoding: encoding, truncated }: ServerResponse): string {
  if (truncated === true || body === '') return '';
  return formatBytes(encoding === 'base64' ? atob(body).length : new TextEncoder().encode(body).byteLength);
}
