import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';
import { useQuery } from '../../api/use-query.ts';
import { Button } from '../../parts/button.tsx';
import { formatClock, formatCount } from '../../parts/text/formats.ts';
import { Icon } from '../../parts/icon.tsx';
import type { IconName } from '../../parts/icon.tsx';
import { Loaded } from '../../parts/states.tsx';
import { announce } from '../../parts/toasts.tsx';
import { WithCode } from '../../parts/text/with-code.tsx';

type Finding = AnswerOf<'GET /api/doctor'>['data'][number];
type Level = Finding['level'];

/** The worst first. */
const levels: readonly Level[] = ['broken', 'warning', 'note', 'ok', 'fact'];
const names: Record<Level, string> = { broken: 'Broken', warning: 'Warning', note: 'Note', ok: 'Fine', fact: 'Fact' };
const icons: Record<Level, IconName> = { broken: 'close', warning: 'alert', note: 'info', ok: 'check', fact: 'info' };

/** What is wrong with the gateway and what to do about it, as `toolwharf doctor` says it. */
export function HealthPage(): JSX.Element {
  const query = useQuery('GET /api/doctor');
  const [examinedAt, setExaminedAt] = useState<number>();
  useEffect(() => {
    if (query.data === undefined) return;
    setExaminedAt(Date.now());
    announce(verdictOf(query.data.data).text);
  }, [query.data]);
  return (
    <div class="page health">
      <header>
        <h1>Health</h1>
        <Button icon="refresh" isBusy={query.isLoading} onClick={query.reload}>
          {query.isLoading ? 'Examining…' : 'Examine again'}
        </Button>
      </header>
      {query.data === undefined && query.isLoading && (
        <p class="soft">Every backend and tool server is asked now. That takes as long as the slowest of them, at most half a minute.</p>
      )}
      <Loaded query={query}>
        {({ data }) => (
          <>
            <Verdict findings={data} examinedAt={examinedAt} />
            {partsOf(data).map(([about, findings]) => (
              <Part key={about} about={about} findings={findings} />
            ))}
          </>
        )}
      </Loaded>
    </div>
  );
}

function countOf(findings: readonly Finding[], level: Level): number {
  return findings.filter((finding) => finding.level === level).length;
}

function verdictOf(findings: readonly Finding[]): { level: Level; text: string } {
  const broken = countOf(findings, 'broken');
  const warnings = countOf(findings, 'warning');
  if (broken > 0) return { level: 'broken', text: broken === 1 ? 'One thing is broken.' : `${broken} things are broken.` };
  if (warnings > 0) return { level: 'warning', text: `Everything works; ${formatCount(warnings, 'warning')}.` };
  // Such as no model backend yet, where none is needed for a first look.
  if (countOf(findings, 'note') > 0) return { level: 'note', text: 'Nothing is broken.' };
  return { level: 'ok', text: 'Everything works.' };
}

function Verdict({ findings, examinedAt }: { findings: readonly Finding[]; examinedAt: number | undefined }): JSX.Element {
  const { level, text } = verdictOf(findings);
  return (
    <div class={`card health-verdict ${level}`}>
      <span class="health-mark">
        <Icon name={icons[level]} size={20} />
      </span>
      <div>
        <h2>{text}</h2>
        <p class="soft small">
          {level === 'ok'
            ? 'Backends and tool servers have answered. '
            : level === 'note'
              ? `${formatCount(countOf(findings, 'note'), 'note')} below. `
              : 'What to do stands below each. '}
          {examinedAt !== undefined && `Examined at ${formatClock(examinedAt)}.`}
        </p>
      </div>
    </div>
  );
}

/** Parts with the worst findings come first, and these within each. */
function partsOf(findings: readonly Finding[]): [about: string, findings: Finding[]][] {
  const rank = ({ level }: Finding): number => levels.indexOf(level);
  const sorted = findings.toSorted((one, other) => rank(one) - rank(other));
  return [...Map.groupBy(sorted, ({ about }) => about)];
}

function Part({ about, findings }: { about: string; findings: readonly Finding[] }): JSX.Element {
  return (
    <section class="card health-part">
      <h2>{about}</h2>
      <ul>
        {findings.map((finding, index) => (
          <li key={index} class={finding.level}>
            <span class="health-mark">
              <Icon name={icons[finding.level]} size={16} />
              <span class="unseen">{names[finding.level]}: </span>
            </span>
            <div class="grow">
              <p>
                <WithCode text={finding.message} />
              </p>
              {finding.cure !== undefined && (
                <p class="health-cure">
                  <WithCode text={finding.cure} />
                </p>
              )}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
