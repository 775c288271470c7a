import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { HubClient } from '../../core/client/index.ts'
import { type Clock, elapsedMs, systemClock } from '../../core/clock.ts'
import { type Config, readConfig } from '../../core/config.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { createLog } from '../../core/log.ts'
import type { ChainIdentity } from '../../core/payments/chain/identity.ts'
import type { Plugin } from '../../core/plugin/index.ts'
import { startJobs } from '../../jobs/index.ts'
import { plugins, privileged } from '../../plugins/index.ts'
import { type RunningHub, startHub } from '../../server/boot/start.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { postCredits, registerWallet } from './funded-agent.ts'
import { type FreshDatabase, freshDatabase, TEST_CLUSTER } from './postgres.ts'

/** Whole hub in this process: real database, chain, facilitator, seller and entry points. */
export interface TestHub extends RunningHub {
  readonly database: FreshDatabase
  readonly dataDir: string
  /** Returns the log as JSON lines. */
  readonly logged: () => string
  /** Creates and registers a wallet with test USDC (microdollars). */
  agent(usdc?: bigint): Promise<TestAgent>
  /** Posts credits for a key as if bought, without the chain. */
  credit(keyId: string, amount: bigint): Promise<void>
  /** Returns the credits of a key in microdollars. */
  balance(keyId: string): Promise<bigint>
  /** Advances the time of the hub's caches, so that a test need not wait for them to expire. */
  advanceCaches(ms: number): void
  /** Stops everything after checking that the ledger balances and no secret was logged. */
  close(): Promise<void>
}

export interface TestAgent {
  readonly client: HubClient
  readonly keyId: string
  readonly apiKey: string
  readonly address: `0x${string}`
}

export async function startTestHub(
  options: {
    readonly plugins?: readonly Plugin[]
    /** @defaultValue a new database of the shared server */
    readonly database?: FreshDatabase
    readonly clock?: Clock
    /** Without `jobs: true` no jobs run: they take much of the time of a start. */
    readonly config?: Partial<Config>
    readonly chainIdentity?: ChainIdentity
  } = {},
): Promise<TestHub> {
  const database = options.database ?? (await freshDatabase())
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
  const lines: string[] = []
  let advancedMs = 0
  const log = createLog('debug', { write: (line) => lines.push(line) })
  const running = await startHub({
    config: {
      ...readConfig({}),
      dataDir,
      port: 0,
      databaseUrl: database.url,
      cluster: TEST_CLUSTER,
      jobs: false,
      ...options.config,
    },
    loadParts: async () => ({
      plugins: [...plugins, ...(options.plugins ?? [])],
      privileged,
      startJobs,
    }),
    log,
    clock: options.clock ?? systemClock,
    chainIdentity: options.chainIdentity,
    cacheNow: () => elapsedMs() + advancedMs,
  })
  const { hub, sandbox, url } = running
  return {
    ...running,
    database,
    dataDir,
    logged: () => lines.join(''),
    async agent(usdc = 0n) {
      const account = privateKeyToAccount(generatePrivateKey())
      if (usdc > 0n) await fund(sandbox!.rpcUrl, account.address, { usdc })
      return { ...(await registerWallet(url, account)), address: account.address }
    },
    credit: (keyId, amount) => postCredits(hub.ledger, keyId, amount),
    balance: (keyId) => hub.ledger.balance(creditsOf(keyId)),
    advanceCaches(ms) {
      advancedMs += ms
    },
    async close() {
      try {
        const { ok, checks } = await verifyLedger(hub.pool)
        const bad = checks.filter((check) => Number(check.bad) !== 0)
        if (!ok) throw new Error(`the ledger does not balance: ${JSON.stringify(bad, text)}`)
        if (/ahk_[0-9A-Za-z]{20}/.test(lines.join(''))) throw new Error('a key was logged')
      } finally {
        await running.stop()
        await database.drop()
        await rm(dataDir, { recursive: true, force: true })
      }
    },
  }
}

const text = (_: string, value: unknown): unknown =>
  typeof value === 'bigint' ? String(value) : value
