import type { Pool } from 'pg'
import { listenOnChannel } from '../../core/db/listen.ts'
import { createPool } from '../../core/db/pool.ts'
import { CredentialGate, type CredentialGates } from '../../core/identity/credential-gate.ts'
import { FailedAttempts } from '../../core/identity/failed-attempts.ts'
import { logFailure } from '../../core/outages.ts'
import type { HubOptions } from './options.ts'

/** Channel on which the database announces new keys, sessions and links (0048_credentials.sql). */
const CHANNEL = 'credential'

/** Opens the gates, and listens for new credentials, so that none is taken for unknown. */
export function openCredentialGates(
  pool: Pool,
  { databaseUrl, databaseDirectUrl, cacheNow, log }: HubOptions,
): CredentialGates & { close(): Promise<void> } {
  const { gates, all } = createGates(pool, cacheNow)
  const onError = (err: Error): void =>
    logFailure(log, 'warn', { err, component: 'database' }, 'database connection lost')
  const direct = { max: 1, role: 'hub_app', onError }
  const listenPool = createPool(databaseDirectUrl ?? databaseUrl, direct)
  const closing = new AbortController()
  const listening = listenOnChannel(
    listenPool,
    {
      channel: CHANNEL,
      onNotify: () => all.forEach((gate) => gate.invalidate()),
      onListening: () => all.forEach((gate) => gate.startCaching()),
      onLost: () => all.forEach((gate) => gate.stopCaching()),
    },
    log,
    closing.signal,
  )
  return {
    ...gates,
    async close() {
      closing.abort()
      await listening
      await listenPool.end()
    },
  }
}

function createGates(pool: Pool, now: HubOptions['cacheNow']) {
  const attempts = new FailedAttempts(now)
  const deps = { pool, attempts, now }
  const gates = {
    keyGate: new CredentialGate({ ...deps, kind: 'key' }),
    sessionGate: new CredentialGate({ ...deps, kind: 'session', countsRepeats: false }),
    linkGate: new CredentialGate({ ...deps, kind: 'link' }),
  }
  return { gates, all: Object.values(gates) }
}
