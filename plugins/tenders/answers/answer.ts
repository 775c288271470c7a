import type { Database, Transaction } from 'agenthub/plugin'
import { SAMPLE_NOW } from '../sample/clock.ts'
import { brief } from './brief.ts'
import { changes } from './changes.ts'
import { envelopeOf, type NewestSnapshot, pagination, readNewestSnapshot } from './envelope.ts'
import { feed } from './feed.ts'
import { changesQuery, feedQuery, type QueryParameters } from './query.ts'

/** Names of the endpoints. */
export const ENDPOINTS = ['changes', 'brief', 'feed'] as const
export type EndpointName = (typeof ENDPOINTS)[number]

const RESPONDERS = {
  async changes(
    transaction: Transaction,
    parameters: QueryParameters,
    at: NewestSnapshot,
    now: Date,
  ) {
    const query = changesQuery(parameters)
    const { items, total } = await changes(transaction, query, at, now)
    return { data: items, pagination: pagination(query, total, items.length) }
  },
  async brief(transaction: Transaction, _: QueryParameters, at: NewestSnapshot, now: Date) {
    return { data: await brief(transaction, at, now) }
  },
  async feed(transaction: Transaction, parameters: QueryParameters, at: NewestSnapshot, now: Date) {
    const query = feedQuery(parameters)
    const { items, total } = await feed(transaction, query, at, now)
    return { data: items, pagination: pagination(query, total, items.length) }
  },
} as const

/**
 * Builds the response of an endpoint; undefined before there is a complete snapshot.
 * @throws Refusal for an invalid query
 */
export const answer = (
  database: Database,
  endpoint: EndpointName,
  parameters: QueryParameters,
  now: Date,
) =>
  database.reading(async (transaction) => {
    const found = await readNewestSnapshot(transaction, now)
    if (!found) return undefined
    const isSample = found.source === 'sample'
    const clock = isSample ? SAMPLE_NOW : now
    const at = (isSample && (await readNewestSnapshot(transaction, clock))) || found
    return {
      ...(await RESPONDERS[endpoint](transaction, parameters, at, clock)),
      ...envelopeOf(at),
    }
  })
