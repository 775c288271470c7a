import type { Pool } from 'pg'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { createPool } from '../../../core/db/pool.ts'
import { callRpc } from '../../../server/sandbox/rpc.ts'
import { allTransfers } from '../../conservation/chain-transfers.ts'
import {
  type ChainBalances,
  type Facts,
  readAccounts,
  readDatabase,
} from '../../conservation/facts.ts'
import type { Charge } from '../../conservation/request-recorder.ts'
import type { Buyer } from './buyers.ts'
import type { Clients } from './client.ts'
import { type Deployment, SECOND } from './deployment.ts'
import { type ClientLog, finalAnswer, type LoggedRequest } from './request-log.ts'

type Hex = `0x${string}`
const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const BALANCE_OF = '0x70a08231'
const POLL_MS = 1_000
const CHAIN_MARGIN_SECONDS = 60

/** Body of a response of the API after the run. */
export type ApiView = Readonly<Record<string, unknown>>

/** Everything that the answers of a run are compared with. */
export interface RecoveryFacts extends Facts {
  /** `GET /v1/calls/{id}` by id. */
  readonly calls: ReadonlyMap<string, ApiView>
  /** Rows of `GET /v1/credits/history` by key. */
  readonly histories: ReadonlyMap<string, readonly ApiView[]>
  /** Public keys of receipts, by id. */
  readonly receiptKeys: readonly ApiView[]
  /** Recipients of received mails. */
  readonly mailedTo: ReadonlySet<string>
}

export interface CollectDeps {
  readonly deployment: Deployment
  readonly clients: Clients
  readonly buyers: readonly Buyer[]
  readonly pool: Pool
}

/** Connects as the owner, past all roles of the hub. */
export const openOwnerPool = ({ cluster }: Deployment): Pool =>
  createPool(cluster.url, { max: 2, onError: () => {} })

export async function readBaseline({ deployment, pool }: CollectDeps): Promise<Facts['before']> {
  const database = { accounts: await readAccounts(pool) }
  return { chainBalances: await chainBalancesOf(deployment), database }
}

async function chainBalancesOf({
  rpcUrl,
  secondChain,
  wallets,
}: Deployment): Promise<ChainBalances> {
  const treasury = wallets.treasury.account.address
  const gas = await callRpc(rpcUrl, 'eth_getBalance', [wallets.gas.account.address, 'latest'])
  return {
    spend: await balanceOf(rpcUrl, wallets.spend.account.address),
    treasury: await balanceOf(rpcUrl, treasury),
    gas: BigInt(String(gas)),
    further: new Map([
      [SECOND.v1Network, await balanceOf(secondChain.rpcUrl, treasury, SECOND.address)],
    ]),
  }
}

async function balanceOf(rpcUrl: string, wallet: Hex, token: Hex = USDC): Promise<bigint> {
  const data = `${BALANCE_OF}${wallet.slice(2).toLowerCase().padStart(64, '0')}`
  return BigInt(String(await callRpc(rpcUrl, 'eth_call', [{ to: token, data }, 'latest'])))
}

/**
 * Moves chain time past the deadline of every payment, and waits until the hub's own jobs have
 * resolved everything and the ledger no longer changes. @returns false if that takes too long
 */
export async function waitUntilSettled(
  { deployment: { rpcUrl, secondChain }, pool }: CollectDeps,
  timeoutMs: number,
): Promise<boolean> {
  const { rows } = await pool.query<{ seconds: number }>(
    `SELECT coalesce(extract(epoch FROM greatest(
       (SELECT max(valid_before) FROM hub.payment_claim),
       (SELECT max(valid_before) FROM hub.payment_intent)) - now()), 0)::integer AS seconds`,
  )
  const seconds = Math.max(0, rows[0]!.seconds) + CHAIN_MARGIN_SECONDS
  for (const chain of [rpcUrl, secondChain.rpcUrl]) {
    await callRpc(chain, 'evm_increaseTime', [seconds])
    await callRpc(chain, 'evm_mine', [])
  }
  let before = ''
  for (const end = elapsedMs() + timeoutMs; elapsedMs() < end; await sleep(POLL_MS)) {
    const state = await pool.query<{ state: string; open: number }>(OPEN)
    const { open, state: now } = state.rows[0]!
    if (open === 0 && now === before) return true
    before = now
  }
  return false
}

/** The fee of a transaction is posted for Base alone: gas of further networks is a service's. */
const OPEN = `
  SELECT (SELECT string_agg(seq::text, ' ' ORDER BY shard) FROM ledger.head) AS state,
    ((SELECT count(*) FROM ledger.open_hold)
     + (SELECT count(*) FROM hub.payment_claim WHERE state IN ('claimed', 'pending', 'settled'))
     + (SELECT count(*) FROM hub.payment_intent
        WHERE state IN ('signed', 'unresolved', 'paid'))
     + (SELECT count(*) FROM hub.sent_transaction WHERE chain_id = 8453))::integer AS open`

/** Collects the facts once nothing is pending. */
export async function collectFacts(
  deps: CollectDeps,
  before: Facts['before'],
  log: ClientLog,
): Promise<RecoveryFacts> {
  const { deployment, buyers, pool } = deps
  const { rpcUrl, secondChain, wallets, market, railSellers } = deployment
  const sellers = [...market.wallets, ...railSellers.wallets]
  const onSecond = await allTransfers(secondChain.rpcUrl, SECOND)
  const transfers = [...(await allTransfers(rpcUrl)), ...onSecond]
  const incomes = new Map<Hex, bigint>(sellers.map((wallet) => [wallet, 0n]))
  for (const { to, amount } of transfers) {
    if (incomes.has(to)) incomes.set(to, incomes.get(to)! + amount)
  }
  const left = await Promise.all(
    buyers.map(async ({ account, funded }) => {
      const wallet = account.address.toLowerCase() as Hex
      const second = await balanceOf(secondChain.rpcUrl, wallet, SECOND.address)
      return [wallet, { funded, left: second + (await balanceOf(rpcUrl, wallet)) }] as const
    }),
  )
  const receiptKeys = await read(deps, '/.well-known/jwks.json')
  return {
    wallets: {
      treasury: wallets.treasury.account.address,
      spend: wallets.spend.account.address,
    },
    before,
    chainBalances: await chainBalancesOf(deployment),
    database: await readDatabase(pool),
    transfers,
    incomes,
    buyerWallets: new Map(left),
    ...buyersView(log, transfers),
    ...(await apiViews(deps, log)),
    findings: [...deployment.hub.errors, ...deployment.jobs.errors],
    receiptKeys: receiptKeys['keys'] as readonly ApiView[],
    mailedTo: new Set(deployment.mailbox.mails.flatMap(({ to }) => to)),
  }
}

/** Charges and payments as the buyers were told, in the form of the conservation check. */
function buyersView(
  { requests }: ClientLog,
  transfers: Facts['transfers'],
): Pick<Facts, 'charges' | 'attempts'> {
  const used = new Set(transfers.map(({ nonce }) => nonce))
  return {
    charges: requests.filter(({ keyId, kind }) => keyId && kind !== 'top-up').flatMap(chargesOf),
    attempts: requests.flatMap((request) => {
      const { payment, attempts, path, body } = request
      if (!payment) return []
      const { status } = finalAnswer(request) ?? {}
      const responses = attempts.filter(
        ({ headers }) => headers?.['idempotency-replayed'] !== 'true',
      )
      return {
        payer: payment.payer as Hex,
        nonce: payment.nonce as Hex,
        amount: BigInt(payment.amount),
        requests: [JSON.stringify([path, body])],
        isRefused: attempts.some(({ body: problem }) => problem?.['code'] === 'payment_invalid'),
        charged: responses.map(({ headers }) => BigInt(headers?.['x-charged-microdollars'] ?? 0)),
        served: used.has(payment.nonce as Hex) ? status === 200 || status === 201 : undefined,
      }
    }),
  }
}

function chargesOf({ keyId, attempts }: LoggedRequest): Charge[] {
  return attempts.map(({ status, headers = {}, body = {} }) => {
    const { payment } = body as { readonly payment?: { readonly state?: unknown } }
    const isOpen = payment?.state === 'unresolved' || body['code'] === 'service_unavailable'
    const isRepeated = headers['idempotency-replayed'] === 'true'
    return {
      key: keyId!,
      call: headers['x-call-id'],
      charged: BigInt(headers['x-charged-microdollars'] ?? 0),
      state: status === undefined ? 'lost' : isRepeated ? 'repeated' : isOpen ? 'open' : 'reported',
    }
  })
}

/** Reads balances, histories and calls through the API, as their owners can. */
async function apiViews(deps: CollectDeps, { requests }: ClientLog) {
  const keyBalances: Facts['keyBalances'][number][] = []
  const histories = new Map<string, readonly ApiView[]>()
  const calls = new Map<string, ApiView>()
  for (const buyer of deps.buyers.filter(({ keyId }) => keyId)) {
    const keyId = buyer.keyId!
    const balance = await read(deps, '/v1/credits/balance', buyer)
    keyBalances.push({
      keyId,
      balance: BigInt(String(balance['balance_microdollars'])),
      reserved: BigInt(String(balance['reserved_microdollars'])),
    })
    histories.set(keyId, await readHistory(deps, buyer))
    const own = requests.filter((request) => request.keyId === keyId && request.kind !== 'top-up')
    const ids = own.flatMap(({ attempts }) =>
      attempts.flatMap(({ headers }) => headers?.['x-call-id'] ?? []),
    )
    for (const id of new Set(ids)) calls.set(id, await read(deps, `/v1/calls/${id}`, buyer))
  }
  return { keyBalances, histories, calls }
}

async function readHistory(deps: CollectDeps, buyer: Buyer): Promise<readonly ApiView[]> {
  const rows: ApiView[] = []
  const root = '/v1/credits/history?view=movements&limit=100'
  for (let path = root; ; ) {
    const page = await read(deps, path, buyer)
    rows.push(...(page['data'] as readonly ApiView[]))
    const next = page['next_cursor']
    if (typeof next !== 'string') return rows
    path = `${root}&cursor=${encodeURIComponent(next)}`
  }
}

/** Reads a resource; a new address each time, so that no rate limit of networks applies. */
async function read({ clients }: CollectDeps, path: string, buyer?: Buyer): Promise<ApiView> {
  for (;;) {
    const order = { path, body: {}, apiKey: buyer?.apiKey, ip: buyer?.ip ?? '10.250.0.1' }
    const { status, headers, body, error } = await clients.ask(order)
    if (status === 200 || status === 404) return body!
    if (status !== 429) throw new Error(`${path}: ${status ?? error}`)
    await sleep(1_000 * Number(headers?.['retry-after'] ?? 1))
  }
}
