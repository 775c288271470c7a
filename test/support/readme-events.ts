import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool } from 'pg'

const EVENTS = join(import.meta.dirname, '../../core/ledger/events.ts')

/** Position of the table of events in core/README.md. */
export const EVENTS_BLOCK = /(?<=<!-- events -->\n\n)[\s\S]*(?=\n\n<!-- \/events -->)/

const WALLET_PREFIX = 'assets:usdc:base:'

/**
 * Formats the table of events: the accounts that each one may change, from the database, and its
 * doc comment from the code.
 */
export async function eventsTable(pool: Pool): Promise<string> {
  const texts = readTexts()
  const { rows } = await pool.query<{
    event: string
    debits: string[] | null
    credits: string[] | null
    needs: string[]
  }>('SELECT event, debits, credits, needs FROM ledger.kind ORDER BY id')
  const lines = rows.map(({ event, debits, credits, needs }) => {
    const [debit, credit] = STEPS[event] ?? [named(debits!), named(credits!)]
    const text = texts.get(event)
    if (text === undefined) throw new Error(`${event} has no doc comment in core/ledger/events.ts`)
    const decided = needs.length > 0 ? ` (${needs.join(', ')})` : ''
    return `| \`${event}\` | ${debit} | ${credit} | ${text}${decided} |`
  })
  return ['| event | debit | credit | what happened |', '|---|---|---|---|', ...lines].join('\n')
}

/** Reads the doc comment of each event, without its final period. */
function readTexts(): ReadonlyMap<string, string> {
  const members = /\/\*\* (.+)\. \*\/\n {2}\| [({\s]*readonly type: '([a-z.-]+)'/g
  const found = readFileSync(EVENTS, 'utf8').matchAll(members)
  return new Map([...found].map(([, text, event]) => [event!, text!]))
}

/** Steps of a call, which have columns instead of legs; checked by postings.test.ts. */
const STEPS: Readonly<Record<string, readonly [string, string]>> = {
  'call.reserved': ['credits, or free calls; allowances', 'holds'],
  'call.settled': ['holds', 'earnings (charged − commission), commission; the rest to credits'],
  'call.released': ['holds', 'credits, or free calls; allowances'],
  'call.expired': ['holds', 'credits, or free calls; allowances'],
}

const named = (patterns: readonly string[]): string =>
  patterns.map((pattern) => (pattern === '%' ? 'any' : `\`${readable(pattern)}\``)).join(', ')

const readable = (pattern: string): string =>
  pattern === `${WALLET_PREFIX}%` ? `${WALLET_PREFIX}<wallet>` : pattern.replaceAll('%', '…')
