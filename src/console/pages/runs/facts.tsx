import type { ComponentChild, JSX } from 'preact';

/** Not shown without a value. */
export type Fact = [name: string, value: ComponentChild];

export function Facts({ facts }: { facts: readonly Fact[] }): JSX.Element {
  return (
    <dl class="run-facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt class="soft small">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
