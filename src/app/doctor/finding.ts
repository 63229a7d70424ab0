import type { Finding, Level, Section } from '../../core/finding.ts';

export const ok = (text: string): Finding => ({ level: 'ok', text });
export const fact = (text: string): Finding => ({ level: 'fact', text });
export const note = (text: string, cure?: string): Finding => ({ level: 'note', text, ...(cure !== undefined && { cure }) });
export const warning = (text: string, cure: string): Finding => ({ level: 'warning', text, cure });
export const broken = (text: string, cure: string): Finding => ({ level: 'broken', text, cure });

const marks: Record<Level, string> = { ok: 'ok      ', fact: '        ', note: 'note    ', warning: 'warning ', broken: 'BROKEN  ' };

/** The findings as plain text without colours, so that it can be shared. */
export function toReport(sections: readonly Section[]): string {
  const lines = sections.flatMap(({ title, findings }) => [title, ...findings.flatMap(linesOf), '']);
  return `${[...lines, verdict(countBroken(sections))].join('\n')}\n`;
}

export function countBroken(sections: readonly Section[]): number {
  return sections.flatMap(({ findings }) => findings).filter(({ level }) => level === 'broken').length;
}

function linesOf({ level, text, cure }: Finding): string[] {
  const indent = ' '.repeat(marks[level].length + 2);
  return [`  ${marks[level]}${text}`, ...(cure === undefined ? [] : [`${indent}-> ${cure}`])];
}

function verdict(broken: number): string {
  if (broken === 0) return 'Nothing is broken.';
  return broken === 1 ? 'One problem; the fix is below it.' : `${broken} problems; the fix is below each.`;
}

/** `1 model`, `2 models`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
