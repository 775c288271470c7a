import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient, HubError, type HubResponse } from '../../core/client/index.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { decimal, usd } from '../../core/money.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import type { TestHub } from '../support/hub.ts'

/** An actor in a story: a wallet and a client with its key. */
export interface Actor {
  readonly account: ReturnType<typeof privateKeyToAccount>
  /** Undefined if never registered. */
  readonly keyId: string | undefined
  readonly apiKey: string | undefined
  readonly client: HubClient
}

/** Outcome of one request. */
export interface Result {
  readonly status: number
  readonly code?: string
  readonly source?: string | undefined
}

export interface Scene {
  readonly hub: TestHub
  readonly actors: ReadonlyMap<string, Actor>
  /** Adds an actor. */
  readonly enter: (name: string, actor: Actor) => void
  readonly actor: (name: string) => Actor
}

export type Verb = (scene: Scene, who: string, rest: string) => Promise<readonly Result[]>

/** Runs requests and records their outcomes; all at once if `parallel`. */
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

/** Default input for endpoints that need one. */
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

/** Calls an endpoint, paid from credits, or by x402 up to a maximum. */
const calling =
  (more: { readonly payUpTo?: bigint } = {}): Verb =>
  (scene, who, rest) => {
    const { slug, path, input, options, times, parallel } = callOf(rest)
    const { client } = scene.actor(who)
    return results(times, parallel, () => client.call(slug, path, input, { ...options, ...more }))
  }

const VERBS: Readonly<Record<string, Verb>> = {
  joins: join,
  /** Gives an actor a wallet with USDC and no key. */
  stays: async (scene, who, rest) => {
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(scene.hub.sandbox!.rpcUrl, account.address, { usdc: usd(rest.split(' ').at(-1)!) })
    const client = new HubClient({ baseUrl: scene.hub.url, wallet: { account, sandbox: true } })
    scene.enter(who, { account, client, keyId: undefined, apiKey: undefined })
    return []
  },
  /** Grants credits without the chain. */
  has: async (scene, who, rest) => {
    await scene.hub.credit(scene.actor(who).keyId!, usd(rest))
    return []
  },
  /** Buys credits with a payment on the chain. */
  buys: async (scene, who, rest) => [await result(scene.actor(who).client.purchase(usd(rest)))],
  calls: calling(),
  pays: calling({ payUpTo: usd('1') }),
}

/**
 * Runs a story line by line: `actor action => outcome, and balances`.
 * On the right, separated by two spaces: `free`, `credits` or `x402` (success, paid from there), a
 * status with its code and count (`402 insufficient_credits ×40`), and accounts with amounts
 * (`ada 4.999900  example 0.000090`). A request without a stated outcome must succeed.
 * Accounts of agents are new in each story; all others are measured from its beginning.
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

/** Prefix of a line that only states balances. */
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

/** Normalizes outcomes: `free` is short for `200 free`; ×1 is omitted. */
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

/** Names of shared accounts in stories; debit balances count as positive. */
const ACCOUNTS: Readonly<Record<string, readonly [pattern: string, sign: 1n | -1n]>> = {
  commission: ['income:commission', 1n],
  platform: ['income:services:%', 1n],
  holds: ['liabilities:holds', 1n],
  sellers: ['liabilities:x402-out:in-transit', 1n],
  spent: ['assets:usdc:base:spend', 1n],
  lost: ['expenses:x402-loss', -1n],
  treasury: ['assets:usdc:base:treasury', -1n],
  transit: ['assets:usdc:base:in-transit', -1n],
  /** Received on the chain, final or not. */
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

/** `ada`: her credits; `ada.usdc`: her wallet on the chain; otherwise one of `ACCOUNTS`. */
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
