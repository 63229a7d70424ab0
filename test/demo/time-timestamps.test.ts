import { describe, expect, it } from 'vitest';
import { parseTimestamp } from '../../src/demo/time/parse-timestamp.ts';

// In Berlin it is 09:30:15 on Tuesday, 10 March 2026, winter time.
const now = Date.parse('2026-03-10T08:30:15.250Z');

function parseIn(zone: string, text: string): string | undefined {
  return parseTimestamp(text, { now, zone })?.toUTC().toISO({ suppressMilliseconds: true }) ?? undefined;
}

describe('parseTimestamp', () => {
  it.each([
    ['2024-06-01T12:00:00Z', '2024-06-01T12:00:00Z'],
    ['2024-06-01t12:00:00z', '2024-06-01T12:00:00Z'],
    ['2024-06-01T12:00:00', '2024-06-01T10:00:00Z'],
    ['2024-12-01T12:00:00', '2024-12-01T11:00:00Z'],
    ['2024-06-01 12:00', '2024-06-01T10:00:00Z'],
    ['2024-06-01, 12:00', '2024-06-01T10:00:00Z'],
    [' 2024-06-01 \t 12:00\n', '2024-06-01T10:00:00Z'],
    ['2024-06-01T12', '2024-06-01T10:00:00Z'],
    ['2024-06-01T12+02', '2024-06-01T10:00:00Z'],
    ['2024-06-01T12:00:00+02:00', '2024-06-01T10:00:00Z'],
    ['2024-06-01T12:00:00 -0500', '2024-06-01T17:00:00Z'],
    ['2024-06-01T12:00:00\u221205:00', '2024-06-01T17:00:00Z'],
    ['2024-06-01T12:00:00.5Z', '2024-06-01T12:00:00.500Z'],
    ['2024-06-01T12:00:00,25+02:00', '2024-06-01T10:00:00.250Z'],
    ['2024-06-01T12:00:00.123456789Z', '2024-06-01T12:00:00.123Z'],
    ['20240601T120000Z', '2024-06-01T12:00:00Z'],
    ['20240601T1200+0530', '2024-06-01T06:30:00Z'],
    ['20240601T120000.75Z', '2024-06-01T12:00:00.750Z'],
    ['2024-06-01', '2024-05-31T22:00:00Z'],
    ['2024-06-01Z', '2024-06-01T00:00:00Z'],
    ['2024-06-01+02:00', '2024-05-31T22:00:00Z'],
    ['2024-06', '2024-05-31T22:00:00Z'],
    ['2024', '2023-12-31T23:00:00Z'],
    ['2024-W22-6', '2024-05-31T22:00:00Z'],
    ['2024W226', '2024-05-31T22:00:00Z'],
    ['2024-W22', '2024-05-26T22:00:00Z'],
    ['2020-W53-7T12:00Z', '2021-01-03T12:00:00Z'],
    ['2024-153', '2024-05-31T22:00:00Z'],
    ['2024-366', '2024-12-30T23:00:00Z'],
    ['2024-06-01T24:00:00Z', '2024-06-02T00:00:00Z'],
    ['2024/06/01 12:00', '2024-06-01T10:00:00Z'],
    ['2024.6.1', '2024-05-31T22:00:00Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('reads ISO 8601 and its relatives: %j', (text, expected) => {
    expect(parseIn('Europe/Berlin', text)).toBe(expected);
  });

  it.each([
    ['12:00', '2026-03-10T11:00:00Z'],
    ['T1200', '2026-03-10T11:00:00Z'],
    ['12:00:30.5', '2026-03-10T11:00:30.500Z'],
    ['3pm', '2026-03-10T14:00:00Z'],
    ['12 AM', '2026-03-09T23:00:00Z'],
    ['15:00 Z', '2026-03-10T15:00:00Z'],
    ['01:00+14:00', '2026-03-09T11:00:00Z'],
  ])('reads a time of day as one of today: %j', (text, expected) => {
    expect(parseIn('Europe/Berlin', text)).toBe(expected);
  });

  it('takes today from the zone: in Auckland it is already evening, in Honolulu still yesterday', () => {
    expect(parseIn('Pacific/Auckland', '12:00')).toBe('2026-03-09T23:00:00Z');
    expect(parseIn('Pacific/Honolulu', '12:00')).toBe('2026-03-09T22:00:00Z');
  });

  it.each([
    ['2024-06-01 12:00 PM', '2024-06-01T10:00:00Z'],
    ['2024-06-01 12:00:00 AM', '2024-05-31T22:00:00Z'],
    ['2024-06-01 3pm', '2024-06-01T13:00:00Z'],
    ['2024-06-01 3:15 p.m. UTC', '2024-06-01T15:15:00Z'],
    ['June 1, 2024 3pm', '2024-06-01T13:00:00Z'],
    ['1 Jun 2024 15:00', '2024-06-01T13:00:00Z'],
    ['1st of June 2024 at 15:00', '2024-06-01T13:00:00Z'],
    ['Saturday, June 1, 2024', '2024-05-31T22:00:00Z'],
    ['June 2024', '2024-05-31T22:00:00Z'],
    ['06/01/2024 3:00 PM', '2024-06-01T13:00:00Z'],
    ['6/1/2024, 3:00:00\u202fPM', '2024-06-01T13:00:00Z'],
    ['13/01/2024', '2024-01-12T23:00:00Z'],
    ['Jun 1 2024 15:00:30.5', '2024-06-01T13:00:30.500Z'],
    ['Sat Jun 1 15:00:00 2024', '2024-06-01T13:00:00Z'],
  ])('reads a date as people write it: %j', (text, expected) => {
    expect(parseIn('Europe/Berlin', text)).toBe(expected);
  });

  it.each([
    ['Sat, 01 Jun 2024 15:00:00 +0200', '2024-06-01T13:00:00Z'],
    ['Sat, 01 Jun 2024 15:00:00 GMT', '2024-06-01T15:00:00Z'],
    ['Sun, 8 Mar 2026 02:30:00 GMT', '2026-03-08T02:30:00Z'],
    ['Sat Jun 01 2024 15:00:00 GMT+0200 (Central European Summer Time)', '2024-06-01T13:00:00Z'],
    ['June 1, 2024 3pm EST', '2024-06-01T20:00:00Z'],
    ['2024-06-01 12:00 UTC', '2024-06-01T12:00:00Z'],
    ['2024-06-01 12:00 UTC+3', '2024-06-01T09:00:00Z'],
    ['2024-06-01 12:00 America/New_York', '2024-06-01T16:00:00Z'],
    ['2024-06-01T12:00[America/New_York]', '2024-06-01T16:00:00Z'],
    ['2024-06-01T12:00+02:00[America/New_York]', '2024-06-01T10:00:00Z'],
    ['June 1, 2024 3pm Asia/Tokyo', '2024-06-01T06:00:00Z'],
  ])('lets the zone of the text win over the assumed one: %j', (text, expected) => {
    expect(parseIn('Asia/Kolkata', text)).toBe(expected);
  });

  it.each([
    ['1717243200', '2024-06-01T12:00:00Z'],
    ['1717243200.5', '2024-06-01T12:00:00.500Z'],
    ['-1717243200', '1915-08-02T12:00:00Z'],
    ['-1717243200.25', '1915-08-02T11:59:59.750Z'],
    ['1717243200000', '2024-06-01T12:00:00Z'],
    ['1717243200123', '2024-06-01T12:00:00.123Z'],
    ['9999999999999', '2286-11-20T17:46:39.999Z'],
    ['20240601', '2024-05-31T18:30:00Z'],
    ['202406011200', '2024-06-01T06:30:00Z'],
    ['20240601120000', '2024-06-01T06:30:00Z'],
    ['2024153', '2024-05-31T18:30:00Z'],
  ])('reads digits by their number: %s', (text, expected) => {
    expect(parseIn('Asia/Kolkata', text)).toBe(expected);
  });

  it.each([
    ['now', '2026-03-10T08:30:15.250Z'],
    ['today', '2026-03-09T23:00:00Z'],
    ['tomorrow', '2026-03-10T23:00:00Z'],
    ['tomorrow noon', '2026-03-11T11:00:00Z'],
    ['yesterday at 3:15pm', '2026-03-09T14:15:00Z'],
    ['in 2 hours', '2026-03-10T10:30:15.250Z'],
    ['3 weeks ago', '2026-02-17T08:30:15.250Z'],
    ['tonight', '2026-03-10T21:00:00Z'],
    ['next Friday at 5pm', '2026-03-20T16:00:00Z'],
    // Three weeks later clocks have gone forward, and the wall still shows 09:30.
    ['in 3 weeks', '2026-03-31T07:30:15.250Z'],
  ])('counts from now, in the zone: %j', (text, expected) => {
    expect(parseIn('Europe/Berlin', text)).toBe(expected);
  });

  it.each([
    ['nothing', ['', '   ', '.', '[]', '()', '/']],
    ['words', ['hello', 'not a date', 'null', 'NaN', 'Infinity', '__proto__', 'half past three']],
    ['a date amid other words', ['the meeting is on June 1', 'hello tomorrow', '2024-06-01T12:00:00ZZ', '2024-06-01 12:00 Mars/Olympus']],
    ['a range, or two dates', ['June 1 - June 3', 'tomorrow, yesterday']],
    [
      'dates that do not exist',
      [
        '2024-02-30',
        '2023-02-29',
        '2024-13-01',
        '2024-00-10',
        'Feb 30, 2024',
        '2024-02-30 at 3pm',
        '2023-366',
        '2023-W53',
        '2024-W22-0',
        '20240230',
      ],
    ],
    [
      'times that do not exist',
      ['25:00', '12:60', '2024-06-01T24:00:01', '2024-06-01T12:00:60Z', '13 AM', '2024-06-01T12:00+25:00', 'June 1, 2024 25:00'],
    ],
    ['years that four digits do not write', ['0000-01-01', '+12024-06-01', '-0044-03-15', 'June 1, 44 BC', '10000-01-01']],
    [
      'digits that could be anything',
      ['0', '10', '-5', '1.5', '240601', '123456', '1e10', '123456789012345', '2024.5', '-20240601', '99999999999999'],
    ],
  ])('refuses %s', (_what, texts) => {
    expect(texts.filter((text) => parseIn('Europe/Berlin', text) !== undefined)).toEqual([]);
  });

  it('reads 200 characters and not one more', () => {
    expect(parseIn('UTC', '2024-06-01'.padEnd(200))).toBe('2024-06-01T00:00:00Z');
    expect(parseIn('UTC', '2024-06-01'.padEnd(201))).toBeUndefined();
  });

  it('reads 100 characters in words and not one more', () => {
    expect(parseIn('UTC', 'June 1, 2024'.padEnd(100, '.'))).toBe('2024-06-01T00:00:00Z');
    expect(parseIn('UTC', 'June 1, 2024'.padEnd(101, '.'))).toBeUndefined();
  });

  it('stays quick for texts that keep a pattern searching', () => {
    const pieces = [
      '2 days    ',
      '   2 days    ',
      '1h   ',
      '1 in ',
      '1 ',
      'June ',
      '1/',
      '-',
      ':',
      '12:',
      '(',
      '[',
      '[a/',
      'monday pm ',
      '1y couple of mo ',
      '9',
      '9.',
      '\t2 days ',
      'T',
      'a.m. ',
    ];
    // Work that grew faster than the text would run into the time limit of the test.
    for (const piece of pieces) {
      const text = piece.repeat(200).slice(0, 200);
      for (const length of [200, 100]) expect(() => parseIn('UTC', text.slice(0, length))).not.toThrow();
    }
  });
});
