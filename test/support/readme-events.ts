import type { Pool } from 'pg'

/** Where core/README.md has its table of events. */
export const EVENTS_BLOCK = /(?<=<!-- events -->\n\n)[\s\S]*(?=\n\n<!-- \/events -->)/

const HOUSE = 'assets:usdc:base:'

/** The table of events as the database has it: what each may debit and credit. */
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

/** The steps of a call have columns, not legs; test/core/ledger/postings.test.ts proves these. */
const STEPS: Readonly<Record<string, readonly [string, string]>> = {
  'call.reserved': ['credits, or free calls; allowances', 'holds'],
  'call.settled': ['holds', 'earnings (charged − commission), commission; what is left: credits'],
  'call.released': ['holds', 'credits, or free calls; allowances'],
  'call.expired': ['holds', 'credits, or free calls; allowances'],
}

const named = (patterns: readonly string[]): string =>
  patterns.map((pattern) => (pattern === '%' ? 'any' : `\`${shown(pattern)}\``)).join(', ')

const shown = (pattern: string): string =>
  pattern === `${HOUSE}%` ? `${HOUSE}<wallet>` : pattern.replaceAll('%', '…')
