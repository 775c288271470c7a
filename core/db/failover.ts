import type { Client } from 'pg'

/** SQLSTATE of a write on a standby, or on a primary that has become one. */
const READ_ONLY = '25006'
/** SQLSTATE of a transaction of which it is unknown if it took effect. */
const RESOLUTION_UNKNOWN = '08007'
/** Function of PostgreSQL in which a commit waits for the synchronous standby. */
const WAIT_FOR_STANDBY = 'SyncRepWaitForLSN'

/**
 * Ends a connection that is useless or misleading after a failover:
 * - A server that refuses to write is a standby now. The next query needs another connection.
 * - A commit that an operator cancels while it waits for the standby is reported as a success, with
 *   a warning. A failover may still lose it, so its query fails: it is unknown if it took effect.
 */
export function endAfterFailover({ connection }: Pick<Client, 'connection'>): void {
  connection.on('errorMessage', ({ code }: { code?: string }) => {
    if (code === READ_ONLY) connection.stream.destroy()
  })
  connection.on('notice', ({ routine }: { routine?: string }) => {
    if (routine !== WAIT_FOR_STANDBY) return
    const error = new Error('no standby has stored a commit: it is unknown if it took effect')
    connection.emit('error', Object.assign(error, { code: RESOLUTION_UNKNOWN }))
    connection.stream.destroy()
  })
}
