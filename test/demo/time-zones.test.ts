import { describe, expect, it } from 'vitest';
import { toIsoFormat, toLocalTime, toMoment } from '../../src/demo/time/moment.ts';
import { findTimeZone, listTimeZones, toOffsetText } from '../../src/demo/time/time-zones.ts';

const winter = Date.parse('2026-01-15T12:00:00Z') / 1000;
const summer = Date.parse('2026-07-15T12:00:00Z') / 1000;

function requireZone(name: string) {
  const zone = findTimeZone(name);
  if (zone === undefined) throw new Error(`unknown zone ${name}`);
  return zone;
}

describe('listTimeZones', () => {
  it('has every zone that the runtime knows, and the links and fixed zones that it does not list', () => {
    const names = listTimeZones();
    expect(names).toEqual(expect.arrayContaining(Intl.supportedValuesOf('timeZone')));
    expect(names).toEqual(
      expect.arrayContaining([
        'UTC',
        'GMT',
        'Zulu',
        'Etc/UTC',
        'Etc/GMT+12',
        'Etc/GMT-14',
        'Asia/Kolkata',
        'Europe/Kyiv',
        'US/Pacific',
        'EST5EDT',
      ]),
    );
    expect(names.length).toBeGreaterThan(590);
  });

  it('is sorted, without duplicates, and each name can be found', () => {
    const names = listTimeZones();
    expect(names).toEqual([...new Set(names)].toSorted());
    expect(names.filter((name) => findTimeZone(name)?.name !== name)).toEqual([]);
  });
});

describe('findTimeZone', () => {
  it.each([
    ['UTC', 'UTC'],
    ['utc', 'UTC'],
    ['europe/berlin', 'Europe/Berlin'],
    ['AMERICA/ARGENTINA/BUENOS_AIRES', 'America/Argentina/Buenos_Aires'],
    ['etc/gmt+5', 'Etc/GMT+5'],
  ])('finds %s as %s', (written, name) => {
    expect(findTimeZone(written)?.name).toBe(name);
  });

  it.each(['', ' ', 'Mars/Olympus', '+02:00', 'UTC+2', 'CEST', 'Europe', '../etc/passwd', '__proto__', 'constructor', 'UTC\u0000'])(
    'does not know %j',
    (name) => {
      expect(findTimeZone(name)).toBeUndefined();
    },
  );

  it.each([
    ['UTC', 'UTC', 'UTC'],
    ['Europe/London', 'GMT', 'BST'],
    ['Europe/Dublin', 'GMT', 'IST'],
    ['Europe/Berlin', 'CET', 'CEST'],
    ['Europe/Moscow', 'MSK', 'MSK'],
    ['America/New_York', 'EST', 'EDT'],
    ['America/Havana', 'CST', 'CDT'],
    ['America/Phoenix', 'MST', 'MST'],
    ['America/Sao_Paulo', '-03', '-03'],
    ['Asia/Kolkata', 'IST', 'IST'],
    ['Asia/Kathmandu', '+0545', '+0545'],
    ['Asia/Tokyo', 'JST', 'JST'],
    ['Asia/Shanghai', 'CST', 'CST'],
    ['Australia/Sydney', 'AEDT', 'AEST'],
    ['Australia/Lord_Howe', '+11', '+1030'],
    ['Pacific/Honolulu', 'HST', 'HST'],
    ['Africa/Lagos', 'WAT', 'WAT'],
    ['Etc/GMT+5', '-05', '-05'],
  ])('abbreviates %s as %s in January and %s in July', (name, january, july) => {
    const zone = requireZone(name);
    expect([winter, summer].map((time) => zone.abbreviationFor(zone.offsetSecondsAt(time)))).toEqual([january, july]);
  });

  it('uses the offset where a zone had other rules than today', () => {
    const zone = requireZone('Europe/London');
    expect(zone.abbreviationFor(7200)).toBe('+02');
  });
});

describe('toOffsetText', () => {
  it.each([
    [0, '+0000', '+00:00'],
    [-34_200, '-0930', '-09:30'],
    [20_700, '+0545', '+05:45'],
    [3208, '+005328', '+00:53:28'],
  ])('writes %i as %s and %s', (seconds, plain, withColon) => {
    expect([toOffsetText(seconds, ''), toOffsetText(seconds, ':')]).toEqual([plain, withColon]);
  });
});

describe('toMoment', () => {
  const at = (text: string) => {
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = text.split(/\D/).map(Number);
    return { year, month, day, hour, minute, second: 0, microsecond: 0 };
  };

  it.each([
    ['before the gap', '2026-03-29 01:59', 'Europe/Berlin', '2026-03-29T01:59:00+01:00'],
    ['in the gap, moved on by its length', '2026-03-29 02:30', 'Europe/Berlin', '2026-03-29T03:30:00+02:00'],
    ['after the gap', '2026-03-29 03:00', 'Europe/Berlin', '2026-03-29T03:00:00+02:00'],
    ['before the repeated hour', '2026-10-25 01:59', 'Europe/Berlin', '2026-10-25T01:59:00+02:00'],
    ['in the repeated hour, taken as the later', '2026-10-25 02:30', 'Europe/Berlin', '2026-10-25T02:30:00+01:00'],
    ['after the repeated hour', '2026-10-25 03:00', 'Europe/Berlin', '2026-10-25T03:00:00+01:00'],
    ['in a gap west of UTC', '2026-03-08 02:30', 'America/New_York', '2026-03-08T03:30:00-04:00'],
    ['in a repeated hour west of UTC', '2026-11-01 01:30', 'America/New_York', '2026-11-01T01:30:00-05:00'],
    ['in a gap of half an hour', '2026-10-04 02:15', 'Australia/Lord_Howe', '2026-10-04T02:45:00+11:00'],
    ['on a day that a zone skipped', '2011-12-30 12:00', 'Pacific/Apia', '2011-12-31T12:00:00+14:00'],
    ['at the midnight that ends a day', '2024-12-31 24:00', 'UTC', '2025-01-01T00:00:00+00:00'],
    ['in the first century', '0099-01-01 00:00', 'UTC', '0099-01-01T00:00:00+00:00'],
  ])('places a time %s', (_where, written, zoneName, iso) => {
    const zone = requireZone(zoneName);
    const moment = toMoment(at(written), zone);
    expect(moment && toIsoFormat(toLocalTime(moment, zone), 'with offset')).toBe(iso);
  });

  it.each([
    '2026-02-29 00:00',
    '2026-04-31 00:00',
    '2026-13-01 00:00',
    '2026-00-10 00:00',
    '2026-01-01 25:00',
    '2026-01-01 24:01',
    '2026-01-01 00:60',
    '0000-01-01 00:00',
    '10000-01-01 00:00',
  ])('has no moment for %s', (written) => {
    expect(toMoment(at(written), requireZone('UTC'))).toBeUndefined();
  });
});
