import { Client, type ClientConfig } from 'pg'
import { ConfigError } from '../runtime/config-error.ts'

/** Time to connect and log in. */
const CONNECT_MS = 10_000

/** Detects within 20 s that the machine of the server is gone; Linux would take two hours. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const

/**
 * Opens one connection, outside of pools. A lost connection fails the current query only.
 * @throws ConfigError if the database does not respond in time, or refuses the login
 */
export async function connectClient(
  connectionString: string,
  applicationName: string,
  config: ClientConfig = {},
): Promise<Client> {
  const client = new Client({
    connectionString,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_MS,
    ...KEEP_ALIVE,
    ...config,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (cause) {
    await client.end().catch(() => {})
    const { message } = cause as Error
    const place = `${client.host}:${client.port}`
    // A pooler does not name the login that it refuses, which may be one that the hub derives.
    const at = message.includes(place) ? '' : ` (login ${client.user} at ${place})`
    throw new ConfigError(`The database cannot be reached: ${message}${at}`, { cause })
  }
}
