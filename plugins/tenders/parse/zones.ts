/** Time zones of the countries whose buyers publish in the official journal (IANA, 2025b). */
const ZONES: Readonly<Record<string, readonly string[]>> = {
  ALB: ['Europe/Tirane'],
  AND: ['Europe/Andorra'],
  ARM: ['Asia/Yerevan'],
  AZE: ['Asia/Baku'],
  AUT: ['Europe/Vienna'],
  BEL: ['Europe/Brussels'],
  BGR: ['Europe/Sofia'],
  BIH: ['Europe/Sarajevo'],
  CHE: ['Europe/Zurich'],
  CYP: ['Asia/Nicosia'],
  CZE: ['Europe/Prague'],
  DEU: ['Europe/Berlin'],
  DNK: ['Europe/Copenhagen'],
  ESP: ['Europe/Madrid', 'Atlantic/Canary'],
  EST: ['Europe/Tallinn'],
  FIN: ['Europe/Helsinki'],
  FRA: [
    'Europe/Paris',
    'America/Guadeloupe',
    'America/Martinique',
    'America/Cayenne',
    'America/Miquelon',
    'Indian/Reunion',
    'Indian/Mayotte',
    'Pacific/Noumea',
    'Pacific/Tahiti',
  ],
  FRO: ['Atlantic/Faroe'],
  GBR: ['Europe/London'],
  GEO: ['Asia/Tbilisi'],
  GIB: ['Europe/Gibraltar'],
  GRC: ['Europe/Athens'],
  HRV: ['Europe/Zagreb'],
  HUN: ['Europe/Budapest'],
  IRL: ['Europe/Dublin'],
  ISL: ['Atlantic/Reykjavik'],
  ISR: ['Asia/Jerusalem'],
  ITA: ['Europe/Rome'],
  LIE: ['Europe/Vaduz'],
  LTU: ['Europe/Vilnius'],
  LUX: ['Europe/Luxembourg'],
  LVA: ['Europe/Riga'],
  MCO: ['Europe/Monaco'],
  MDA: ['Europe/Chisinau'],
  MKD: ['Europe/Skopje'],
  MLT: ['Europe/Malta'],
  MNE: ['Europe/Podgorica'],
  NLD: ['Europe/Amsterdam'],
  NOR: ['Europe/Oslo'],
  POL: ['Europe/Warsaw'],
  PRT: ['Europe/Lisbon', 'Atlantic/Azores'],
  ROU: ['Europe/Bucharest'],
  SMR: ['Europe/San_Marino'],
  SRB: ['Europe/Belgrade'],
  SVK: ['Europe/Bratislava'],
  SVN: ['Europe/Ljubljana'],
  SWE: ['Europe/Stockholm'],
  TUR: ['Europe/Istanbul'],
  UKR: ['Europe/Kyiv'],
  XKX: ['Europe/Belgrade'],
}

/** Zones of regions by NUTS code; other regions have the first zone of their country. */
const REGIONS: readonly (readonly [RegExp, string])[] = [
  [/^ES7/, 'Atlantic/Canary'],
  [/^PT2/, 'Atlantic/Azores'],
  [/^FR[AY9]1/, 'America/Guadeloupe'],
  [/^FR[AY9]2/, 'America/Martinique'],
  [/^FR[AY9]3/, 'America/Cayenne'],
  [/^FR[AY9]4/, 'Indian/Reunion'],
  [/^FR[AY]5/, 'Indian/Mayotte'],
]

function zonesOf(country: string, nuts: string | null): readonly string[] {
  const zones = ZONES[country] ?? []
  if (zones.length < 2 || !/^[A-Z]{2}[0-9A-Y]\w/.test(nuts ?? '')) return zones
  const region = REGIONS.find(([code]) => code.test(nuts ?? ''))
  return region ? [region[1]] : zones.slice(0, 1)
}

const MINUTE = 60_000
const DAY = 86_400_000
const formats = new Map<string, Intl.DateTimeFormat>()

/**
 * The offsets, in minutes east of UTC, that a clock in the country can have at a local time: none
 * for an unknown country, several where it has several zones, or where clocks are put back and the
 * time comes twice. A time that clocks leave out has the offset from before.
 * @param local the clock, read as if it were UTC, in ms
 * @param nuts region, which decides between several zones
 */
export function legalOffsets(
  country: string | null,
  local: number,
  nuts: string | null = null,
): readonly number[] {
  const zones = country === null ? [] : zonesOf(country, nuts)
  return [...new Set(zones.flatMap((zone) => offsetsIn(zone, local)))]
}

function offsetsIn(zone: string, local: number): number[] {
  const around = [...new Set([offsetAt(zone, local - DAY), offsetAt(zone, local + DAY)])]
  const right = around.filter((offset) => offsetAt(zone, local - offset * MINUTE) === offset)
  return right.length > 0 ? right : around.slice(0, 1)
}

/** The offset of a zone at an instant. */
function offsetAt(zone: string, instant: number): number {
  let format = formats.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
    formats.set(zone, format)
  }
  const name = format.formatToParts(instant).find(({ type }) => type === 'timeZoneName')?.value
  const [, sign, hours, minutes] = /^GMT([+-])(\d{2}):(\d{2})$/.exec(name ?? '') ?? []
  if (sign === undefined) return 0 // plain GMT
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}
