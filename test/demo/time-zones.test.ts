import { DateTime } from 'luxon';
import { describe, expect, it } from 'vitest';
import { abbreviationOf, findTimeZone, listTimeZones } from '../../src/demo/time/time-zones.ts';

describe('listTimeZones', () => {
  it('lists the zones that the runtime knows, those with a newer name, and UTC', () => {
    const names = listTimeZones();
    expect(names).toEqual(expect.arrayContaining([...Intl.supportedValuesOf('timeZone'), 'UTC', 'Asia/Kolkata', 'Europe/Kyiv']));
  });

  it('sorts the names, and names no zone twice or in vain', () => {
    const names = listTimeZones();
    expect(names).toEqual([...new Set(names)].toSorted());
    expect(names.filter((name) => !DateTime.utc().setZone(name).isValid)).toEqual([]);
  });
});

describe('findTimeZone', () => {
  it.each([
    ['UTC', 'UTC'],
    ['utc', 'UTC'],
    ['europe/berlin', 'Europe/Berlin'],
    ['AMERICA/ARGENTINA/BUENOS_AIRES', 'America/Argentina/Buenos_Aires'],
    ['Etc/GMT+5', 'Etc/GMT+5'],
    ['US/Pacific', 'US/Pacific'],
  ])('finds %s as %s', (written, name) => {
    expect(findTimeZone(written)).toBe(name);
  });

  it.each(['', ' ', 'Mars/Olympus', '+02:00', 'UTC+2', 'CEST', 'Europe', '../etc/passwd', '__proto__', 'constructor', 'UTC\u0000'])(
    'finds nothing for %j',
    (name) => {
      expect(findTimeZone(name)).toBeUndefined();
    },
  );
});

describe('abbreviationOf', () => {
  it.each([
    ['UTC', 'UTC', 'UTC'],
    ['Europe/London', 'GMT', 'BST'],
    ['Europe/Berlin', 'CET', 'CEST'],
    ['Europe/Moscow', 'MSK', 'MSK'],
    ['America/New_York', 'EST', 'EDT'],
    ['America/Phoenix', 'MST', 'MST'],
    ['America/Sao_Paulo', '-03', '-03'],
    ['Asia/Kolkata', 'IST', 'IST'],
    ['Asia/Kathmandu', '+0545', '+0545'],
    ['Asia/Tokyo', 'JST', 'JST'],
    ['Australia/Sydney', 'AEDT', 'AEST'],
    ['Africa/Lagos', 'WAT', 'WAT'],
    ['Etc/GMT+5', '-05', '-05'],
  ])('abbreviates %s as %s in January and %s in July', (zone, january, july) => {
    const inMonth = (month: number): string => abbreviationOf(DateTime.fromObject({ year: 2026, month, day: 15 }, { zone }));
    expect([inMonth(1), inMonth(7)]).toEqual([january, july]);
  });
});
