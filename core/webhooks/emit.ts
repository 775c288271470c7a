import type { PoolClient } from 'pg'
import type { EventData, EventType } from './events.ts'

/**
 * Tells the webhooks of a principal, and of the account that it is linked to, what happened. It is
 * told if, and only if, the transaction of `client` commits. Where nobody listens, nothing is kept.
 */
export async function emit(
  client: Pick<PoolClient, 'query'>,
  principal: string,
  type: EventType,
  data: EventData,
): Promise<void> {
  await client.query('SELECT hub.emit($1, $2, $3)', [principal, type, JSON.stringify(data)])
}
