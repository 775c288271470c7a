import type { ReplicaOptions } from '../db/recent-reads.ts'
import type { Environment } from './environment.ts'

/** Databases of the hub, and how the ledger is laid out in them. */
export interface DatabaseConfig {
  readonly databaseUrl: string | undefined
  /** Direct connection for sessions; `databaseUrl` is then treated as a transaction pooler. */
  readonly databaseDirectUrl: string | undefined
  /** Login of the owner, which migrates; undefined: that of the other URLs, if it is one. */
  readonly databaseOwnerUrl: string | undefined
  /** Server for reads that may be some seconds old; its URL names no login. */
  readonly replica: ReplicaOptions | undefined
  /** Engine that distributes the ledger; undefined: one PostgreSQL server. */
  readonly cluster: 'citus' | undefined
  /** Number of ledger shards of a new installation; existing installations keep theirs. */
  readonly shards: number
}

export const databaseOf = (e: Environment): DatabaseConfig => ({
  databaseUrl: e.DATABASE_URL,
  databaseDirectUrl: e.DATABASE_DIRECT_URL,
  databaseOwnerUrl: e.DATABASE_OWNER_URL,
  replica: e.DATABASE_REPLICA_URL
    ? { url: e.DATABASE_REPLICA_URL, maxAgeMs: e.DATABASE_REPLICA_SECONDS * 1_000 }
    : undefined,
  cluster: e.HUB_CLUSTER,
  shards: e.HUB_SHARDS,
})
