import type { Pool } from 'pg'

/** Position of the table of events in core/README.md. */
export const EVENTS_BLOCK = /(?<=<!-- events -->\n\n)[\s\S]*(?=\n\n<!-- \/events -->)/

const WALLET_PREFIX = 'assets:usdc:base:'

/** Formats the table of events from the database, with the accounts that each event may change. */
export async function eventsTable(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{
    event: string
    debits: string[] | null
    credits: string[] | null
    meaning: string
    needs: string[]
  }>('SELECT event, debits, credits, meaning, needs FROM ledger.kind ORDER BY id')
  const lines = rows.map(({ event, debits, credits, meaning, needs }) => {
    const [debit, credit] = STEPS[event] ?? [named(debits!), named(credits!)]
    const decided = needs.length > 0 ? ` (${needs.join(', ')})` : ''
    return `| \`${event}\` | ${debit} | ${credit} | ${meaning}${decided} |`
  })
  return ['| event | debit | credit | what happened |', '|---|---|---|---|', ...lines].join('\n')
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
