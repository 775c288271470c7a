import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { browse } from '../../../core/catalog/search/browse.ts'
import { dayName, daysBefore, systemClock } from '../../../core/clock.ts'
import { writeCursor } from '../../../server/rest/paging.ts'
import { allPages } from '../../../server/web/index.ts'
import type { AccountData } from './account-data.ts'
import { KEY, type Person, SUB_KEY_IDS } from './test-data.ts'

/** Paths of each kind of page, requested in turns, by their name in the table. */
export type Paths = Readonly<Record<string, readonly string[]>>

const SOME = 40
/** Documents before a deep page of the catalog. */
const DEEP = 80_000
/** Days before today, covering nearly the whole journal. */
const BACK = Array.from({ length: SOME }, (_, i) => 1 + ((i * 17) % 100))

/** Pages that redirect an account that is signed in, or that are files. */
const UNTIMED: ReadonlySet<string> = new Set([
  '/search',
  '/sign-in',
  '/sign-in/confirm',
  '/unsubscribe',
  '/account/calls.csv',
  '/account/calls/{id}/receipt',
])

/**
 * Every page of the hub, with enough instances that no two consecutive responses are equal.
 * @throws Error if a page is missing
 */
export async function pathsOf(
  admin: Pool,
  person: Person,
  accountData: AccountData,
): Promise<Paths> {
  const paths = {
    ...(await publicPaths(admin, person)),
    ...(await ownPaths(admin, accountData)),
    ...(await booksOf(admin)),
  }
  assertComplete(Object.values(paths).map(([first]) => first!.split('?')[0]!))
  return paths
}

function assertComplete(timed: readonly string[]): void {
  const missing = allPages({ baseUrl: () => '' } as Parameters<typeof allPages>[0])
    .map(({ path }) => path)
    .filter((path) => !UNTIMED.has(path))
    .filter((path) => {
      const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
      return !timed.some((each) => pattern.test(each))
    })
  if (missing.length > 0) throw new Error(`pages without a path: ${missing.join(', ')}`)
}

const alone = (paths: readonly string[]): Paths =>
  Object.fromEntries(paths.map((path) => [path, [path]]))

async function publicPaths(admin: Pool, { queries }: Person): Promise<Paths> {
  const { rows } = await admin.query<{ id: string }>('SELECT id FROM hub.listing LIMIT 50')
  return {
    ...alone([
      '/',
      '/services',
      '/services/analysis',
      '/services/analysis/try',
      '/providers/agenthub',
      '/go?q=analysis&list=1',
      '/status',
      '/docs',
      '/docs/reference/provider',
      '/docs/agents',
      '/docs/providers',
      '/docs/finance',
      '/docs/operations',
      '/docs/search?q=payout',
      '/docs/webhooks',
      '/docs/problems',
      '/docs/problems/payment_required',
      '/topup',
    ]),
    '/topup?key_id=…': [`/topup?key_id=${KEY}&amount_usd=5.00&purchase_id=pur_${randomUUID()}`],
    '/services?q=…': queries.map(
      (query) => `/services?${new URLSearchParams({ q: query }).toString()}`,
    ),
    ...(await catalogPaths(admin)),
    '/compare?id=…': rows.map(({ id }) => `/compare?id=analysis&id=${id}&id=${rows[0]!.id}`),
    '/listings/{id}': rows.map(({ id }) => `/listings/${id}`),
  }
}

/** First and deep pages of each order of the catalog. */
async function catalogPaths(admin: Pool): Promise<Paths> {
  const orders = ['relevance', 'price', 'latency', 'uptime', 'calls'] as const
  const paths = orders.map(async (sort) => {
    const { last } = await browse(admin, {}, sort, { limit: 1, offset: DEEP })
    const deep = Array.from({ length: SOME }, (_, i) => writeCursor([DEEP / 20 + i, last]))
    return {
      [`/services?sort=${sort}`]: [`/services?sort=${sort}`],
      [`/services?sort=${sort}&cursor=…`]: deep.map(
        (cursor) => `/services?sort=${sort}&cursor=${cursor}`,
      ),
    }
  })
  return Object.assign({}, ...(await Promise.all(paths))) as Paths
}

/** Pages of an account with much data and many sales. */
const ownPaths = async (
  admin: Pool,
  { call, webhook, domain, api, payout }: AccountData,
): Promise<Paths> => ({
  ...alone([
    '/sign-in/again',
    '/account',
    '/account?days=365',
    '/account/keys',
    '/account/calls',
    '/account/calls?outcome=failed',
    '/account/calls?outcome=pending',
    '/account/calls?service=other-7',
    '/account/calls?service=nothing',
    '/account/documents',
    '/account/notifications',
    '/account/transfer',
    '/account/webhooks',
    '/account/wallets',
    '/account/sessions',
    '/account/activity',
    '/provider',
    '/provider?days=365',
    '/provider/services',
    '/provider/domains',
    '/provider/calls',
    '/provider/calls?outcome=failed',
    '/provider/calls?outcome=unresolved',
    '/provider/statistics',
    '/provider/statistics?by=endpoint',
    '/provider/payouts',
  ]),
  '/account/keys/{id}': [`/account/keys/${KEY}`],
  '/account/keys/{id} of a sub-key': SUB_KEY_IDS.map((id) => `/account/keys/${id}`),
  '/account/calls?cursor=…': await callPages(admin),
  '/account/history?key=…': [`/account/history?key=${KEY}`],
  '/account/history?key=…&from=…': BACK.map(
    (days) => `/account/history?key=${KEY}&to=${dayBack(days)}`,
  ),
  '/account/calls/{id}': [`/account/calls/${call}`],
  '/account/webhooks/{id}': [`/account/webhooks/${webhook}`],
  '/provider/services/{slug}': [`/provider/services/${api}`],
  '/provider/domains/{id}': [`/provider/domains/${domain}`],
  '/provider/payouts/{id}': [`/provider/payouts/${payout}`],
})

/** Deep pages of the list of calls. */
async function callPages(admin: Pool): Promise<readonly string[]> {
  const { rows } = await admin.query<{ at: Date; id: string }>(
    `SELECT c.at, c.id FROM unnest($2::integer[]) d CROSS JOIN LATERAL (
       SELECT at, id FROM hub.call WHERE key_id = $1 AND at < now() - d * interval '1 day'
       ORDER BY at DESC LIMIT 1) c`,
    [KEY, BACK],
  )
  return rows.map(
    ({ at, id }) => `/account/calls?cursor=${writeCursor([at.toISOString(), id, null])}`,
  )
}

const dayBack = (days: number): string => dayName(daysBefore(systemClock.now(), days))

/** Ledger accounts with few entries, and those touched by nearly every entry. */
const ACCOUNTS = [
  'liabilities:holds',
  'income:commission',
  'assets:usdc:base:in-transit',
  'liabilities:providers:bulk-0:x',
  ...Array.from({ length: 10 }, (_, i) => `liabilities:agents:bulk-${i}:credits`),
  ...Array.from({ length: 10 }, (_, i) => `liabilities:providers:bulk-${i + 1}:x`),
]

/** Pages of finance and administration. */
async function booksOf(admin: Pool): Promise<Paths> {
  const { rows } = await admin.query<{ id: string }>(
    `SELECT j.id FROM generate_series(1, $1::integer) n JOIN ledger.journal j
       ON j.shard = n % 2 AND j.seq = n * 10000`,
    [SOME],
  )
  const statement = (account: string) => `/finance/accounts/${encodeURIComponent(account)}`
  return {
    ...alone([
      '/finance',
      '/finance/trends',
      '/finance/reports',
      '/finance/conversion',
      '/finance/documents',
      '/finance/receivables',
      '/finance/unusable-credits',
      '/finance/payouts',
      '/finance/trial-balance',
      '/finance/trial-balance?prefix=liabilities:agents:',
      '/finance/journal',
      '/finance/journal?event=gas.paid',
      '/finance/adjustments',
      '/finance/transfers',
      '/finance/exceptions',
      '/finance/payments',
      '/finance/periods',
      '/finance/exports',
      '/finance/audit',
      '/admin',
      '/admin?slug=echo',
      '/admin/keys',
      '/admin/roles',
      '/admin/find?q=bench',
      '/admin/find?q=zzz',
      '/admin/health',
      '/admin/incidents',
      '/admin/access',
      '/admin/retention',
    ]),
    '/finance/trial-balance?day=…': BACK.map(
      (days) => `/finance/trial-balance?day=${dayBack(days)}`,
    ),
    '/finance/journal?to=…': BACK.map((days) => `/finance/journal?to=${dayBack(days)}`),
    '/finance/entries/{id}': rows.map(({ id }) => `/finance/entries/${id}`),
    '/finance/accounts/{account}': ACCOUNTS.map(statement),
    '/finance/accounts/{account}?from=…': BACK.map(
      (days, i) => `${statement(ACCOUNTS[i % ACCOUNTS.length]!)}?from=${dayBack(days)}`,
    ),
    '/admin/keys?key=…': [`/admin/keys?key=${KEY}`],
  }
}
