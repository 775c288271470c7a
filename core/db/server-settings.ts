import { totalmem } from 'node:os'

const MIB = 1_048_576
/** Half of the share that PostgreSQL's manual advises, because the hub runs beside it. */
const BUFFERS_SHARE = 1 / 8
const BUFFERS_MIN_MIB = 128
const BUFFERS_MAX_MIB = 2_048

/** Settings of the built-in server. */
export const serverSettings = (): Readonly<Record<string, string>> => ({
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: `${buffersMib(memoryBytes())}MB`, // taken only as they fill
  max_wal_size: '2GB',
  checkpoint_timeout: '15min', // fewer full-page images in the WAL
  wal_compression: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
})

/** Changed settings of a server whose data need not survive, and beside which others run. */
export const NON_DURABLE_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '192MB',
  max_wal_size: '512MB',
}

export const buffersMib = (memory: number): number =>
  Math.min(Math.max(Math.floor((memory * BUFFERS_SHARE) / MIB), BUFFERS_MIN_MIB), BUFFERS_MAX_MIB)

/** Memory of the machine, or of the container if that is limited to less. */
function memoryBytes(): number {
  const limit = process.constrainedMemory() // 0 or more than there is, where nothing limits it
  return limit === 0 ? totalmem() : Math.min(limit, totalmem())
}
