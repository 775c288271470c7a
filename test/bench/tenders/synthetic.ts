import type { Database } from 'agenthub/plugin'
import { derive } from '../../../plugins/tenders/domain/derive.ts'
import type { Notice } from '../../../plugins/tenders/model.ts'
import { COUNTRIES } from '../../../plugins/tenders/parse/countries.ts'
import { readNotice } from '../../../plugins/tenders/parse/notice.ts'
import { SAMPLES } from '../../../plugins/tenders/sample/notices.ts'
import { documentOf, type Sample } from '../../../plugins/tenders/sample/write.ts'

const BUYERS = ['DEU', 'FRA', 'POL', 'ESP', 'ITA', 'NLD', 'SWE', 'ROU', 'CZE', 'AUT']
const CODES = ['09310000', '09123000', '45232220', '31170000', '09331200', '45261215', '71314000']
/** Mean notice size: 207 MB for 3,190 notices, measured on a real day. */
const BYTES = 65_000

const uuid = (n: number): string => `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`

/** Yields the notices of one day, in realistic sizes. */
export function* syntheticDay(count: number, day: string): Generator<Buffer> {
  for (let n = 1; n <= count; n += 1) {
    const text = documentOf(sampleOf(n, day))
    const filler = `<cac:TenderingTerms><cac:AwardingTerms><cbc:Note>criterion</cbc:Note>\
</cac:AwardingTerms></cac:TenderingTerms>`
    const more = filler.repeat(Math.ceil((BYTES - text.length) / filler.length))
    yield Buffer.from(
      text.replace('<cac:ProcurementProjectLot>', `${more}<cac:ProcurementProjectLot>`),
    )
  }
}

function sampleOf(n: number, day: string): Sample {
  const base = SAMPLES[n % 3]!
  return {
    ...base,
    number: `${100_000 + n}-${day.slice(0, 4)}`,
    published: day,
    notice: uuid(n),
    procedure: uuid(n),
    cpv: [CODES[n % CODES.length]!],
    buyer: { ...base.buyer, country: BUYERS[n % BUYERS.length]! },
  }
}

const PAGE = 5_000
const DAY = 86_400_000
const YEARS = 5

/**
 * Fills the tables with five years of tenders and changes, derived from real notices and spread
 * over days, countries and codes: about one in thirty is open at `now`.
 */
export async function fillTenders(database: Database, count: number, now: Date): Promise<void> {
  const held = SAMPLES.slice(0, 6).map((sample) => ({
    notice: readNotice(documentOf(sample)) as Notice,
    sha256: 'x',
  }))
  const { tenders, changes } = derive(held)
  const countries = JSON.stringify([...BUYERS, ...[...COUNTRIES].slice(0, 20)])
  const span = YEARS * 365
  for (let from = 0; from < count; from += PAGE) {
    await database.query(FILL, [
      from,
      from + PAGE - 1,
      JSON.stringify(tenders[0]),
      countries,
      CODES,
      new Date(now.getTime() - span * DAY),
      span,
      JSON.stringify(changes[0]),
    ])
  }
  for (const table of ['tender', 'tender_item', 'change', 'change_item', 'notice']) {
    await database.query(`VACUUM ANALYZE ${table}`)
  }
}

const FILL = `
  WITH made AS (
    SELECT n, '9' || lpad(n::text, 6, '0') || '-2026' AS number,
      ($6::timestamptz + (n * 7919 % ($7 * 24)) * interval '1 hour') AS at,
      ($4::jsonb ->> (abs(hashint8(n)) % 30)) AS country,
      ($5::text[])[1 + abs(hashint8(n + 7)) % cardinality($5)] AS code,
      (200 + abs(hashint8(n + 3)) % 160 * 5) AS score
    FROM generate_series($1::bigint, $2::bigint) n
  ), families AS (
    INSERT INTO family SELECT FROM made RETURNING id
  ), numbered AS (
    SELECT id, row_number() OVER () AS at FROM families
  ), rows AS (
    SELECT m.*, f.id AS family FROM (SELECT *, row_number() OVER () AS r FROM made) m
    JOIN numbered f ON f.at = m.r
  ), told AS (
    INSERT INTO change (id, family, published_on, event, signal, verification, countries, score,
        tender, cpv, detected_at)
    SELECT md5(number), family, at::date, (ARRAY['deadline_extended', 'cancelled'])[1 + n % 2],
      (ARRAY['deadline', 'status'])[1 + n % 2], 'verified', ARRAY[country], score,
      md5(number || 't'), ARRAY(SELECT left(code, l) FROM generate_series(2, 8) l), at
    FROM rows WHERE n % 2 = 0 OR n % 3 = 0
    RETURNING id
  ), told_items AS (
    INSERT INTO change_item (id, item) SELECT id, $8::json FROM told
  ), made_tenders AS (
  INSERT INTO tender (id, family, number, numbers, first_on, called_on, kind, state, score,
    closes_at, deadlines, candidates, closes_first, countries, cpv)
  SELECT md5(number || 't'), family, number, ARRAY[number], at::date, ARRAY[at::date],
    CASE WHEN n % 3 = 0 THEN 'result' WHEN n % 20 = 1 THEN 'planning' ELSE 'competition' END,
    CASE WHEN n % 3 = 0 THEN 'awarded' WHEN n % 20 = 1 THEN 'planned' ELSE 'timed' END,
    score, at + interval '35 days', ARRAY[at + interval '30 days', at + interval '35 days'],
    ARRAY[at + interval '30 days', at + interval '35 days'], at + interval '30 days',
    ARRAY[country],
    ARRAY(SELECT left(code, l) FROM generate_series(2, 8) l)
  FROM rows RETURNING id)
  INSERT INTO tender_item (id, item) SELECT id, $3::json FROM made_tenders`
