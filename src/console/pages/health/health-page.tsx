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
import { useSocketFinding } from './socket-finding.ts';

type Finding = AnswerOf<'GET /api/doctor'>['data'][number];
type Level = Finding['level'];

/** The most severe level first. */
const levels: readonly Level[] = ['broken', 'warning', 'note', 'ok', 'fact'];
const names: Record<Level, string> = { broken: 'Broken', warning: 'Warning', note: 'Note', ok: 'OK', fact: 'Info' };
const icons: Record<Level, IconName> = { broken: 'close', warning: 'alert', note: 'info', ok: 'check', fact: 'info' };

/** The findings of `toolwharf doctor`: what is wrong with the gateway and how to fix it. */
export function HealthPage(): JSX.Element {
  const query = useQuery('GET /api/doctor');
  const [checkedAt, setCheckedAt] = useState<number>();
  const socketFinding = useSocketFinding(query.data);
  const withSocket = (findings: readonly Finding[]): readonly Finding[] =>
    socketFinding === undefined ? findings : [...findings, socketFinding];
  useEffect(() => {
    if (query.data === undefined) return;
    setCheckedAt(Date.now());
    announce(verdictOf(query.data.data).text);
  }, [query.data]);
  return (
    <div class="page health">
      <header>
        <h1>Health</h1>
        <Button icon="refresh" isBusy={query.isLoading} onClick={query.reload}>
          {query.isLoading ? 'Checking…' : 'Check again'}
        </Button>
      </header>
      {query.data === undefined && query.isLoading && (
        <p class="soft">Checking every backend and tool server. This takes up to 30 seconds.</p>
      )}
      <Loaded query={query}>
        {({ data }) => (
          <>
            <Verdict findings={withSocket(data)} checkedAt={checkedAt} />
            {groupsOf(withSocket(data)).map(([about, findings]) => (
              <Group key={about} about={about} findings={findings} />
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
  if (broken > 0) return { level: 'broken', text: `${formatCount(broken, 'problem')} found.` };
  if (warnings > 0) return { level: 'warning', text: `Everything works, with ${formatCount(warnings, 'warning')}.` };
  // For example: there is no model backend yet, which a first look does not need.
  if (countOf(findings, 'note') > 0) return { level: 'note', text: 'Nothing is broken.' };
  return { level: 'ok', text: 'Everything works.' };
}

function Verdict({ findings, checkedAt }: { findings: readonly Finding[]; checkedAt: number | undefined }): JSX.Element {
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
            ? 'All backends and tool servers responded. '
            : level === 'note'
              ? `${formatCount(countOf(findings, 'note'), 'note')} below. `
              : 'See below for how to fix each one. '}
          {checkedAt !== undefined && `Checked at ${formatClock(checkedAt)}.`}
        </p>
      </div>
    </div>
  );
}

/** Groups with the most severe findings come first, and so do these findings within each group. */
function groupsOf(findings: readonly Finding[]): [about: string, findings: Finding[]][] {
  const rank = ({ level }: Finding): number => levels.indexOf(level);
  const sorted = findings.toSorted((one, other) => rank(one) - rank(other));
  return [...Map.groupBy(sorted, ({ about }) => about)];
}

function Group({ about, findings }: { about: string; findings: readonly Finding[] }): JSX.Element {
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
