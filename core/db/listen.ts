import { once } from 'node:events'
import type { Pool, PoolClient } from 'pg'
import { pause } from '../clock.ts'
import type { Log } from '../log.ts'
import { logFailure } from '../outages.ts'
import { reconnectPauseMs } from './reconnect-pause.ts'

export interface ChannelListener {
  readonly channel: string
  /** Called for each notification. */
  readonly onNotify: (payload: string | undefined) => void
  /** Called whenever the connection listens: notifications before that may have been missed. */
  readonly onListening: () => void
  /** Called whenever the connection is lost. */
  readonly onLost?: () => void
}

/** Pause after a connection that had listened. */
const RECONNECT_MS = 100

/** Listens on a channel with a connection of its own until the signal aborts; reconnects. */
export async function listenOnChannel(
  pool: Pool,
  { channel, onNotify, onListening, onLost }: ChannelListener,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    let client: PoolClient | undefined
    let hasListened = false
    try {
      client = await pool.connect()
      client.on('notification', ({ payload }) => onNotify(payload))
      await client.query(`LISTEN ${channel}`)
      hasListened = true
      onListening()
      await once(client, 'end', { signal })
    } catch (err) {
      if (signal.aborted) return
      logFailure(log, 'warn', { err, channel }, 'failed to listen on a database channel')
    } finally {
      onLost?.()
      client?.release(true)
    }
    await pause(hasListened ? RECONNECT_MS : reconnectPauseMs(), signal)
  }
}
