import { describe, expect, it } from 'vitest';
import { DateTime } from 'luxon';
import { formatStrftime } from '../../src/demo/time/format-strftime.ts';

const localTime = (epochSeconds: number, millisecond: number, zone: string): DateTime =>
  DateTime.fromMillis(epochSeconds * 1000 + millisecond, { zone });

// The columns are the answers of Python 3.11 (glibc, C locale, zoneinfo) for these five times.
const times = [
  localTime(1_717_247_045, 678, 'Europe/Berlin'),
  localTime(1_735_534_800, 0, 'America/New_York'),
  localTime(1_672_556_409, 7, 'Asia/Kolkata'),
  localTime(1_609_729_199, 999, 'America/Sao_Paulo'),
  localTime(1_772_960_820, 120, 'UTC'),
];
const table: [directive: string, ...texts: string[]][] = [
  ['%a', 'Sat', 'Mon', 'Sun', 'Sun', 'Sun'],
  ['%A', 'Saturday', 'Monday', 'Sunday', 'Sunday', 'Sunday'],
  ['%w', '6', '1', '0', '0', '0'],
  ['%d', '01', '30', '01', '03', '08'],
  ['%b', 'Jun', 'Dec', 'Jan', 'Jan', 'Mar'],
  ['%B', 'June', 'December', 'January', 'January', 'March'],
  ['%m', '06', '12', '01', '01', '03'],
  ['%y', '24', '24', '23', '21', '26'],
  ['%Y', '2024', '2024', '2023', '2021', '2026'],
  ['%H', '15', '00', '12', '23', '09'],
  ['%I', '03', '12', '12', '11', '09'],
  ['%p', 'PM', 'AM', 'PM', 'PM', 'AM'],
  ['%P', 'pm', 'am', 'pm', 'pm', 'am'],
  ['%M', '04', '00', '30', '59', '07'],
  ['%S', '05', '00', '09', '59', '00'],
  ['%f', '678000', '000000', '007000', '999000', '120000'],
  ['%z', '+0200', '-0500', '+0530', '-0300', '+0000'],
  ['%Z', 'CEST', 'EST', 'IST', '-03', 'UTC'],
  ['%j', '153', '365', '001', '003', '067'],
  ['%U', '21', '52', '01', '01', '10'],
  ['%W', '22', '53', '00', '00', '09'],
  [
    '%c',
    'Sat Jun  1 15:04:05 2024',
    'Mon Dec 30 00:00:00 2024',
    'Sun Jan  1 12:30:09 2023',
    'Sun Jan  3 23:59:59 2021',
    'Sun Mar  8 09:07:00 2026',
  ],
  ['%x', '06/01/24', '12/30/24', '01/01/23', '01/03/21', '03/08/26'],
  ['%X', '15:04:05', '00:00:00', '12:30:09', '23:59:59', '09:07:00'],
  ['%%', '%', '%', '%', '%', '%'],
  ['%G', '2024', '2025', '2022', '2020', '2026'],
  ['%g', '24', '25', '22', '20', '26'],
  ['%u', '6', '1', '7', '7', '7'],
  ['%V', '22', '01', '52', '53', '10'],
  ['%e', ' 1', '30', ' 1', ' 3', ' 8'],
  ['%F', '2024-06-01', '2024-12-30', '2023-01-01', '2021-01-03', '2026-03-08'],
  ['%T', '15:04:05', '00:00:00', '12:30:09', '23:59:59', '09:07:00'],
  ['%D', '06/01/24', '12/30/24', '01/01/23', '01/03/21', '03/08/26'],
  ['%R', '15:04', '00:00', '12:30', '23:59', '09:07'],
  ['%r', '03:04:05 PM', '12:00:00 AM', '12:30:09 PM', '11:59:59 PM', '09:07:00 AM'],
  ['%n', '\n', '\n', '\n', '\n', '\n'],
  ['%t', '\t', '\t', '\t', '\t', '\t'],
  ['%h', 'Jun', 'Dec', 'Jan', 'Jan', 'Mar'],
  ['%k', '15', ' 0', '12', '23', ' 9'],
  ['%l', ' 3', '12', '12', '11', ' 9'],
  ['%C', '20', '20', '20', '20', '20'],
  ['%-d', '1', '30', '1', '3', '8'],
  ['%-m', '6', '12', '1', '1', '3'],
  ['%-H', '15', '0', '12', '23', '9'],
  ['%-I', '3', '12', '12', '11', '9'],
  ['%-M', '4', '0', '30', '59', '7'],
  ['%-S', '5', '0', '9', '59', '0'],
  ['%-j', '153', '365', '1', '3', '67'],
  ['%-y', '24', '24', '23', '21', '26'],
  ['%-e', '1', '30', '1', '3', '8'],
  ['%-k', '15', '0', '12', '23', '9'],
  ['%-l', '3', '12', '12', '11', '9'],
  ['%-U', '21', '52', '1', '1', '10'],
  ['%-W', '22', '53', '0', '0', '9'],
  ['%-V', '22', '1', '52', '53', '10'],
  ['%-Y', '2024', '2024', '2023', '2021', '2026'],
  ['%-A', 'Saturday', 'Monday', 'Sunday', 'Sunday', 'Sunday'],
  ['%-B', 'June', 'December', 'January', 'January', 'March'],
  ['%-p', 'PM', 'AM', 'PM', 'PM', 'AM'],
];

describe('formatStrftime', () => {
  it.each(table)('formats %s as Python does', (directive, ...texts) => {
    expect(times.map((time) => formatStrftime(directive, time))).toEqual(texts);
  });

  it('writes the offset with a colon for %:z', () => {
    expect(times.map((time) => formatStrftime('%:z', time))).toEqual(['+02:00', '-05:00', '+05:30', '-03:00', '+00:00']);
  });

  it('writes the seconds since 1970 for %s, whatever the zone', () => {
    expect(times.map((time) => formatStrftime('%s', time))).toEqual(['1717247045', '1735534800', '1672556409', '1609729199', '1772960820']);
  });

  it.each([
    ['', ''],
    ['100%', '100%'],
    ['%%Y', '%Y'],
    ['%%%Y', '%2024'],
    ['%Y%', '2024%'],
    ['%-', '%-'],
    ['% d', '% d'],
    ['%-c', 'Sat Jun  1 15:04:05 2024'],
    ['%-F', '2024-06-01'],
    ['%-f', '%-f'],
    ['%-%', '%'],
    ['%-w', '6'],
    ['é %d 日', 'é 01 日'],
    ['%::z', '%::z'],
    ['%Y-%m-%d %H:%M:%S', '2024-06-01 15:04:05'],
    ['%A, %-d %B %Y at %-I:%M %p (%Z)', 'Saturday, 1 June 2024 at 3:04 PM (CEST)'],
  ])('formats %j as %j', (format, text) => {
    expect(formatStrftime(format, localTime(1_717_247_045, 0, 'Europe/Berlin'))).toBe(text);
  });

  it('leaves every unknown directive as it was written', () => {
    const unknown = ['%Q', '%J', '%i', '%1', '%E', '%q', '%:', '%é', '%-Q', '%$'];
    for (const directive of unknown) expect(formatStrftime(directive, localTime(0, 0, 'UTC'))).toBe(directive);
  });
});
