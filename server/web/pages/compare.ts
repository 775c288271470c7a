import type { Pool } from 'pg'
import { z } from 'zod'
import { METERED } from '../../../core/catalog/listings/discovery/offers.ts'
import { providerLabel } from '../../../core/catalog/review/provider-names.ts'
import { type HitFacts, readFacts } from '../../../core/catalog/search/facets.ts'
import { type Hit, readHits } from '../../../core/catalog/search/hits.ts'
import type { Clock } from '../../../core/clock.ts'
import { formatCount, formatDuration, formatPercent, priceLimit, priceRange } from '../format.ts'
import { type Html, html } from '../html.ts'
import { emptyState } from '../messages.ts'
import { type AnyPage, page } from '../page.ts'
import { identify } from '../service-cards.ts'
import { cardTable } from '../table.ts'

export interface CompareDeps {
  readonly pool: Pool
  readonly clock: Clock
}

interface Compared {
  readonly hit: Hit
  readonly facts: HitFacts | undefined
}

/** Services that fit side by side. */
const COMPARED_MAX = 4
const IDS_MAX = 20

/** `/compare?id=…&id=…`: up to four services or listings side by side. */
export const comparePage = ({ pool, clock }: CompareDeps): AnyPage =>
  page('/compare', {
    access: 'public',
    query: z.object({
      id: z
        .union([
          z
            .string()
            .max(60)
            .transform((id) => [id]),
          z.array(z.string().max(60)).max(IDS_MAX),
        ])
        .default([]),
    }),
    render: async ({ query }) => {
      const ids = [...new Set(query.id)]
      const ranked = ids.slice(0, COMPARED_MAX).map((id) => ({
        candidate: { kind: id.startsWith('ext_') ? 'external' : 'native', id } as const,
        score: 0,
        why: [],
      }))
      const [hits, read] = await Promise.all([
        readHits(pool, ranked, clock.now()),
        readFacts(pool, ranked),
      ])
      const factsById = new Map(read.map(({ facts }) => [facts.id, facts]))
      const all = hits.map((hit) => ({ hit, facts: factsById.get(identify(hit).id) }))
      return {
        title: 'Compare',
        section: 'Services',
        main: html`<p class="breadcrumb"><a href="/services">Services</a></p><h1>Compare</h1>${
          ids.length > COMPARED_MAX && html`<p>Only the first ${COMPARED_MAX} are shown.</p>`
        }${all.length === 0 ? NOTHING : comparison(all)}`,
      }
    },
  })

const NOTHING = emptyState(
  'No service selected.',
  html`<p>Select up to four in the <a href="/services">catalog</a>.</p>`,
)

const orDash = <Value>(
  value: Value | null | undefined,
  format: (value: Value) => string,
): string => (value === null || value === undefined ? '–' : format(value))

/** Rows of the comparison by their head. */
const ROWS: Readonly<Record<string, (compared: Compared) => Html | string>> = {
  'Price per call': ({ hit }) =>
    'service' in hit
      ? priceRange(hit.service)
      : priceLimit(hit.external.price, hit.external.scheme === METERED),
  'Free calls per month': ({ hit }) =>
    'service' in hit ? formatCount(hit.service.freeCallsPerMonth) : 'none',
  'Uptime, 30 days': ({ hit }) =>
    orDash('service' in hit ? hit.service.uptimePercentage : hit.external.uptime, formatPercent),
  'Median latency': ({ hit }) =>
    orDash(
      'service' in hit
        ? hit.service.medianLatencyMs
        : (hit.external.paidMs ?? hit.external.latencyP50),
      formatDuration,
    ),
  'p95 latency': ({ facts }) => orDash(facts?.p95Ms, formatDuration),
  'Calls, 30 days': ({ facts }) => orDash(facts?.calls, formatCount),
  Endpoints: ({ hit }) => ('service' in hit ? formatCount(hit.service.endpointCount) : '1'),
  Category: ({ facts }) => facts?.category ?? '–',
  'Sold by': ({ hit }) =>
    'service' in hit
      ? providerLabel(hit.service.provider, hit.service.providerName)
      : `${hit.external.provider} (external)`,
}

type Row = readonly [string, (compared: Compared) => Html | string]

function comparison(all: readonly Compared[]): Html {
  const links = ({ hit }: Compared) => {
    const { id, name, path } = identify(hit)
    const others = all.map((each) => identify(each.hit).id).filter((other) => other !== id)
    const rest = new URLSearchParams(
      others.map((other) => ['id', other] as [string, string]),
    ).toString()
    return html`<a href="${path}" aria-label="Open ${name}">Open</a> ·
<a href="/compare?${rest}" aria-label="Remove ${name}">Remove</a>`
  }
  return cardTable<Row>(
    'Comparison',
    [
      { head: 'Figure', cell: ([head]) => html`<strong>${head}</strong>` },
      ...all.map((compared) => ({
        head: identify(compared.hit).name,
        cell: ([, show]: Row) => show(compared),
      })),
    ],
    [...Object.entries(ROWS), ['Page', links]],
  )
}
