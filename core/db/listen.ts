import { once } from 'node:events'
import type { Pool, PoolClient } from 'pg'
import { pause } from '../clock.ts'
import type { Log } from '../log.ts'
import { logFailure } from '../outages.ts'

export interface ChannelListener {
  readonly channel: string
  /** Called for each notification. */
  readonly onNotify: (payload: string | undefined) => void
  /** Called whenever the connection listens: notifications before that may have been missed. */
  readonly onListening: () => void
  /** Called whenever the connection is lost. */
  readonly onLost?: () => void
}

const BACK_OFF_MS = [100, 1_000, 5_000, 30_000] as const

/** Listens on a channel with a connection of its own until the signal aborts; reconnects. */
export async function listenOnChannel(
  pool: Pool,
  { channel, onNotify, onListening, onLost }: ChannelListener,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0
  while (!signal.aborted) {
    let client: PoolClient | undefined
    try {
      client = await pool.connect()
      client.on('notification', ({ payload }) => onNotify(payload))
      await client.query(`LISTEN ${channel}`)
      failures = 0
      onListening()
      await once(client, 'end', { signal })
    } catch (err) {
      if (signal.aborted) return
      logFailure(log, 'warn', { err, channel }, 'failed to listen on a database channel')
    } finally {
      onLost?.()
      client?.release(true)
    }
    await pause(BACK_OFF_MS[failures++] ?? BACK_OFF_MS.at(-1)!, signal)
  }
}
