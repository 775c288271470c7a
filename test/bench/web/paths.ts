import type { Pool } from 'pg'
import { dayName, daysBefore, systemClock } from '../../../core/clock.ts'
import type { Goods } from './goods.ts'
import { KEY, type Person } from './plant.ts'

/** What is asked for in turns, by what the table calls it. */
export type Paths = Readonly<Record<string, readonly string[]>>

const SOME = 40
/** Days into the past, over nearly all that the journal holds. */
const BACK = Array.from({ length: SOME }, (_, i) => 1 + ((i * 17) % 100))

/** Every page of the hub, each with so many instances that no answer is the one before. */
export async function pathsOf(admin: Pool, person: Person, goods: Goods): Promise<Paths> {
  return { ...(await publicPaths(admin, person)), ...ownPaths(goods), ...(await booksOf(admin)) }
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
      '/status',
      '/docs',
      '/docs/reference/provider',
      '/docs/agents',
      '/docs/providers',
      '/docs/finance',
      '/docs/webhooks',
      '/docs/problems',
      '/docs/problems/payment_required',
      '/topup',
    ]),
    '/topup?key_id=…': [`/topup?key_id=${KEY}&amount_usd=5`],
    '/search?q=…': queries.map(
      (query) => `/search?${new URLSearchParams({ q: query }).toString()}`,
    ),
    '/listings/{id}': rows.map(({ id }) => `/listings/${id}`),
  }
}

/** Those of somebody who has much, and sells much. */
const ownPaths = ({ call, webhook, domain, api, payout }: Goods): Paths => ({
  ...alone([
    '/account',
    '/account?days=365',
    '/account/keys',
    '/account/webhooks',
    '/account/wallets',
    '/account/sessions',
    '/provider',
    '/provider/services',
    '/provider/domains',
    '/provider/statistics',
    '/provider/statistics?by=endpoint',
    '/provider/payouts',
  ]),
  '/account/keys/{id}': [`/account/keys/${KEY}`],
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

const dayBack = (days: number): string => dayName(daysBefore(systemClock.now(), days))

/** Accounts of few entries, and those that nearly every entry touches. */
const ACCOUNTS = [
  'liabilities:holds',
  'income:commission',
  'assets:usdc:base:in-transit',
  'liabilities:providers:bulk-0:x',
  ...Array.from({ length: 10 }, (_, i) => `liabilities:agents:bulk-${i}:credits`),
  ...Array.from({ length: 10 }, (_, i) => `liabilities:providers:bulk-${i + 1}:x`),
]

/** What finance and administrators look at. */
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
