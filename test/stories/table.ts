import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient, HubError, type HubResponse } from '../../core/client/index.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { decimal, usd } from '../../core/money.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import type { TestHub } from '../support/hub.ts'

/** Somebody in a story: a wallet, and a client with the key that the wallet got. */
export interface Actor {
  readonly account: ReturnType<typeof privateKeyToAccount>
  /** Undefined for one who never registered. */
  readonly keyId: string | undefined
  readonly apiKey: string | undefined
  readonly client: HubClient
}

/** What one request came to. */
export interface Result {
  readonly status: number
  readonly code?: string
  readonly source?: string | undefined
}

export interface Scene {
  readonly hub: TestHub
  readonly actors: ReadonlyMap<string, Actor>
  /** Lets somebody onto the stage. */
  readonly enter: (name: string, actor: Actor) => void
  readonly actor: (name: string) => Actor
}

export type Verb = (scene: Scene, who: string, rest: string) => Promise<readonly Result[]>

/** Runs requests and notes what each came to; all at once when `parallel`. */
async function results(
  times: number,
  parallel: boolean,
  request: () => Promise<HubResponse>,
): Promise<Result[]> {
  if (parallel) return Promise.all(Array.from({ length: times }, () => result(request())))
  const list: Result[] = []
  for (let i = 0; i < times; i++) list.push(await result(request()))
  return list
}

export async function result(request: Promise<HubResponse>): Promise<Result> {
  try {
    const { status, source } = await request
    return { status, source }
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    return { status: error.status, code: error.code }
  }
}

/** An input for the endpoints that need one. */
const INPUTS: Readonly<Record<string, unknown>> = {
  'echo/say': { words: 'hello' },
  'analysis/sentiment': { text: 'A lovely day.' },
}

/** `echo/say {"words":"hi"} max 0.000050 ×15` (one after the other) or `∥50` (all at once). */
function callOf(text: string) {
  const form = /^([\w-]+)(\/\S+)(?: (\{.*\}))?(?: max (\S+))?(?: ([×∥])(\d+))?$/
  const [, slug = '', path = '', json, max, how, times] = form.exec(text) ?? []
  if (slug === '') throw new Error(`not a call: ${text}`)
  return {
    slug,
    path,
    input: json === undefined ? (INPUTS[slug + path] ?? {}) : (JSON.parse(json) as unknown),
    options: max === undefined ? {} : { maxPrice: usd(max) },
    times: Number(times ?? 1),
    parallel: how === '∥',
  }
}

async function join(scene: Scene, who: string, rest: string): Promise<readonly Result[]> {
  const [, usdc, , twin] = /^(?:with ([\d.]+))?( ?as (\w+))?$/.exec(rest) ?? []
  const account = twin ? scene.actor(twin).account : privateKeyToAccount(generatePrivateKey())
  if (usdc) await fund(scene.hub.sandbox!.rpcUrl, account.address, { usdc: usd(usdc) })
  const wallet = { account, sandbox: true }
  const made = await new HubClient({ baseUrl: scene.hub.url, wallet }).register()
  scene.enter(who, { ...made, account })
  return []
}

/** Calls every endpoint as its payer, by credits or, when told how much at most, by x402. */
const calling =
  (more: { readonly payUpTo?: bigint } = {}): Verb =>
  (scene, who, rest) => {
    const { slug, path, input, options, times, parallel } = callOf(rest)
    const { client } = scene.actor(who)
    return results(times, parallel, () => client.call(slug, path, input, { ...options, ...more }))
  }

const VERBS: Readonly<Record<string, Verb>> = {
  joins: join,
  /** Has a wallet with so much USDC, and no key. */
  stays: async (scene, who, rest) => {
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(scene.hub.sandbox!.rpcUrl, account.address, { usdc: usd(rest.split(' ').at(-1)!) })
    const client = new HubClient({ baseUrl: scene.hub.url, wallet: { account, sandbox: true } })
    scene.enter(who, { account, client, keyId: undefined, apiKey: undefined })
    return []
  },
  /** Gets credits without the chain. */
  has: async (scene, who, rest) => {
    await scene.hub.credit(scene.actor(who).keyId!, usd(rest))
    return []
  },
  /** Buys credits, by a payment on the chain. */
  buys: async (scene, who, rest) => [await result(scene.actor(who).client.purchase(usd(rest)))],
  calls: calling(),
  pays: calling({ payUpTo: usd('1') }),
}

/**
 * Tells a story, one line at a time: `who does what => what came of it, and what everybody has`.
 * On the right, two spaces apart: `free`, `credits` or `x402` (a success, paid from there), a
 * status with its code and how often (`402 insufficient_credits ×40`), and accounts with amounts
 * (`ada 4.999900  example 0.000090`). Nothing said about a request means that it succeeded.
 * Accounts of agents are new in each story; all others are counted from its beginning.
 */
export async function tell(
  hub: TestHub,
  story: string,
  verbs: Readonly<Record<string, Verb>> = {},
): Promise<void> {
  const actors = new Map<string, Actor>()
  const actor = (name: string): Actor => {
    const found = actors.get(name)
    if (!found) throw new Error(`nobody is called ${name}`)
    return found
  }
  const enter = (name: string, who: Actor): void => void actors.set(name, who)
  const scene: Scene = { hub, actors, enter, actor }
  const before = await Promise.all(
    Object.keys(ACCOUNTS).map(async (name) => [name, await shared(hub, name)] as const),
  )
  const start = new Map<string, bigint>(before)
  for (const line of linesOf(story)) {
    const [left = '', right = ''] = line.split(/\s*=>\s*/)
    const [, who = '', verb = '', rest = ''] = /^(\S+)\s+(\S+)\s*(.*?)\s*$/.exec(left) ?? []
    const act = left === '' ? nothing : { ...VERBS, ...verbs }[verb]
    if (!act) throw new Error(`no such verb: ${line}`)
    const came = await act(scene, who, rest.replaceAll(/\s+/g, ' '))
    await compare(line, right, came, (name) => balanceOf(scene, start, name))
  }
}

/** Of a line that goes on with what everybody has. */
const nothing: Verb = async () => []

const linesOf = (story: string): string[] =>
  story
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('--'))

async function compare(
  line: string,
  right: string,
  came: readonly Result[],
  balance: (name: string) => Promise<bigint>,
): Promise<void> {
  const items = right.split(/\s{2,}/).filter((item) => item !== '')
  const isBalance = (item: string) => /^\S+ -?\d+\.\d{6}$/.test(item)
  const outcomes = items.filter((item) => !isBalance(item))
  if (came.length > 0) {
    const wanted = outcomes.length > 0 ? outcomes.map(spell).toSorted() : undefined
    const got = tally(came)
    if (wanted) expect(got, line).to.deep.equal(wanted)
    else
      expect(
        came.filter(({ status }) => status > 299),
        line,
      ).to.deep.equal([])
  } else if (outcomes.length > 0) throw new Error(`nothing came of it: ${line}`)
  const names = items.filter(isBalance).map((item) => item.split(' ')[0]!)
  const has = await Promise.all(
    names.map(async (name) => `${name} ${decimal(await balance(name))}`),
  )
  expect(has, line).to.deep.equal(items.filter(isBalance))
}

/** `free` is short for `200 free`; whatever happens once is not counted. */
const spell = (item: string): string => {
  const [, what = item, times = '1'] = /^(.*?)(?: ×(\d+))?$/.exec(item) ?? []
  return `${/^\d{3}/.test(what) ? what : `200 ${what}`} ×${times}`
}

function tally(came: readonly Result[]): string[] {
  const sums = new Map<string, number>()
  for (const { status, code, source } of came) {
    const what = [status, code ?? source].filter((part) => part !== undefined).join(' ')
    sums.set(what, (sums.get(what) ?? 0) + 1)
  }
  return [...sums].map(([what, times]) => `${what} ×${times}`).toSorted()
}

/** What the accounts that all share are called in a story; debit balances count as positive. */
const ACCOUNTS: Readonly<Record<string, readonly [pattern: string, sign: 1n | -1n]>> = {
  commission: ['income:commission', 1n],
  house: ['income:services:%', 1n],
  holds: ['liabilities:holds', 1n],
  sellers: ['liabilities:x402-out:in-transit', 1n],
  spent: ['assets:usdc:base:spend', 1n],
  lost: ['expenses:x402-loss', -1n],
  treasury: ['assets:usdc:base:treasury', -1n],
  transit: ['assets:usdc:base:in-transit', -1n],
  /** Received from the chain, final or not. */
  cash: ['assets:usdc:base:%t%r%', -1n],
  example: ['liabilities:providers:example:%', 1n],
}

async function shared({ hub }: TestHub, name: string): Promise<bigint> {
  const [pattern, sign] = ACCOUNTS[name]!
  const { rows } = await hub.pool.query<{ sum: string }>(
    `SELECT coalesce(sum(b.balance), 0)::text AS sum FROM ledger.account a
     JOIN ledger.balance b ON b.account = a.id WHERE a.code LIKE $1`,
    [pattern],
  )
  return BigInt(rows[0]!.sum) * sign
}

/** `ada`: her credits. `ada.usdc`: her wallet, on chain. Else one of `ACCOUNTS`. */
async function balanceOf(
  { hub, actor }: Scene,
  start: ReadonlyMap<string, bigint>,
  name: string,
): Promise<bigint> {
  if (name in ACCOUNTS) return (await shared(hub, name)) - start.get(name)!
  const [who = '', wallet] = name.split('.')
  const { account, keyId } = actor(who)
  if (wallet === 'usdc') return hub.sandbox!.money.chain.balanceOf(account.address)
  return hub.hub.ledger.balance(creditsOf(keyId!))
}
