import type { Database, Transaction } from 'agenthub/plugin'
import { SAMPLE_NOW } from '../sample/clock.ts'
import { brief } from './brief.ts'
import { changes } from './changes.ts'
import { around, pagination, type Standing, standing } from './envelope.ts'
import { feed } from './feed.ts'
import { changesQuery, feedQuery, type Given } from './query.ts'

/** The three endpoints. */
export const QUESTIONS = ['changes', 'brief', 'feed'] as const
export type Question = (typeof QUESTIONS)[number]

const ASK = {
  async changes(transaction: Transaction, given: Given, at: Standing, now: Date) {
    const query = changesQuery(given)
    const { items, total } = await changes(transaction, query, at, now)
    return { data: items, pagination: pagination(query, total, items.length) }
  },
  async brief(transaction: Transaction, _: Given, at: Standing, now: Date) {
    return { data: await brief(transaction, at, now) }
  },
  async feed(transaction: Transaction, given: Given, at: Standing, now: Date) {
    const query = feedQuery(given)
    const { items, total } = await feed(transaction, query, at, now)
    return { data: items, pagination: pagination(query, total, items.length) }
  },
} as const

/** Undefined before there is a complete snapshot. @throws Refusal for an invalid query */
export const answer = (database: Database, question: Question, given: Given, now: Date) =>
  database.reading(async (transaction) => {
    const found = await standing(transaction, now)
    if (!found) return undefined
    const isSample = found.source === 'sample'
    const clock = isSample ? SAMPLE_NOW : now
    const at = (isSample && (await standing(transaction, clock))) || found
    return { ...(await ASK[question](transaction, given, at, clock)), ...around(at) }
  })
