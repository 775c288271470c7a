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

/** Zones of regions by the beginning of the NUTS code; FRA and FR9 are older than FRY. */
const REGIONS: Readonly<Record<string, string>> = {
  ES7: 'Atlantic/Canary',
  PT2: 'Atlantic/Azores',
  ...Object.fromEntries(
    ['FRY', 'FRA', 'FR9'].flatMap((region) => [
      [`${region}1`, 'America/Guadeloupe'],
      [`${region}2`, 'America/Martinique'],
      [`${region}3`, 'America/Cayenne'],
      [`${region}4`, 'Indian/Reunion'],
      [`${region}5`, 'Indian/Mayotte'],
    ]),
  ),
}

/** Zones of a country; that of the region if it is known. Other regions have the first one. */
function zonesOf(country: string, nuts: string | null): readonly string[] {
  const zones = ZONES[country] ?? []
  if (zones.length < 2 || nuts === null || nuts.length < 4 || nuts[2] === 'Z') return zones
  const region = REGIONS[nuts.slice(0, 3)] ?? REGIONS[nuts.slice(0, 4)]
  return region === undefined ? zones.slice(0, 1) : [region]
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
